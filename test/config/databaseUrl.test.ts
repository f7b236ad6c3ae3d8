import { expect } from 'chai';
import { parseDatabaseUrl } from '../../src/config/databaseUrl.js';

describe('DATABASE_URL', () => {
  it("names one host, with PostgreSQL's default port unless given", () => {
    const { hosts, url, requiresWritableSessions } = parseDatabaseUrl('postgresql://u:p@db/shop');
    expect(hosts).to.deep.equal([{ host: 'db', port: 5432 }]);
    expect(url).to.equal('postgresql://u:p@db/shop');
    expect(requiresWritableSessions).to.equal(false);
  });

  it('names several hosts, parsed as libpq does', () => {
    const parsed = parseDatabaseUrl(
      'postgres://u:p%2Cq@db1:5433,db2,[::1]:5434/shop?target_session_attrs=read-write&sslmode=require',
    );
    expect(parsed.hosts).to.deep.equal([
      { host: 'db1', port: 5433 },
      { host: 'db2', port: 5432 },
      { host: '::1', port: 5434 },
    ]);
    expect(parsed.url).to.equal(
      'postgres://u:p%2Cq@db1:5433/shop?target_session_attrs=read-write&sslmode=require',
    );
    expect(parsed.requiresWritableSessions).to.equal(true);
  });

  it('is refused if it requests a standby, has an invalid host, repeats hosts, or is not a PostgreSQL URL', () => {
    const problems: Readonly<Record<string, string>> = {
      'postgres://u:secret@db/shop?target_session_attrs=prefer-standby': 'needs a server that accepts writes',
      'postgres://u:secret@db1,db2:port/shop': 'has a host that is not host or host:port',
      'postgres://u:secret@db1,db2/shop?host=db3': 'names hosts twice',
      'mysql://u:secret@db/shop': 'is not a postgres or postgresql URL',
    };
    for (const [url, problem] of Object.entries(problems)) {
      expect(() => parseDatabaseUrl(url), url)
        .to.throw(problem)
        .with.property('message')
        .that.does.not.include('secret');
    }
  });
});
