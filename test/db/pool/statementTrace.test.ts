import { Writable } from 'node:stream';
import { expect } from 'chai';
import { pino } from 'pino';
import { divideConnections } from '../../../src/db/pool/connectionBudget.js';
import { openDatabase, type Database } from '../../../src/db/pool/database.js';
import { preparedText } from '../../../src/db/pool/preparedStatements.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { testKeyRing } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { fixed } from '../../../src/db/sql/sql.js';

interface Line {
  readonly msg: string;
  readonly sql: string;
  readonly plan: string | null;
  readonly ms: number;
}

describe('LOG_LEVEL=trace', () => {
  let testDatabase: TestDatabase;
  const opened: Database[] = [];
  const lines: Line[] = [];
  const log = (level: string) =>
    pino(
      { level },
      new Writable({
        write(chunk: Buffer, _encoding, done) {
          lines.push(JSON.parse(chunk.toString('utf8')) as Line);
          done();
        },
      }),
    );
  const open = (level: string): Database => {
    const database = openDatabase({
      url: testDatabase.url,
      budget: divideConnections(10, 'all', false),
      keyRing: testKeyRing,
      statementTimeoutMs: 10_000,
      lockTimeoutMs: 10_000,
      poolTimeoutMs: 10_000,
      applicationName: 'rowpost test',
      log: log(level),
    });
    opened.push(database);
    return database;
  };
  const statements = (text: string): readonly Line[] =>
    lines.filter(({ msg, sql }) => msg === 'statement' && sql.includes(text));

  before(async () => {
    testDatabase = await createTestDatabase();
  });
  beforeEach(() => lines.splice(0));
  after(async () => {
    for (const database of opened) await database.close();
    await testDatabase.drop();
  });

  it('logs each tenant statement with its duration, and the prepared name once PostgreSQL caches its plan', async () => {
    const database = open('trace');
    const { tenantid } = await createTestTenant(database.pool, {
      name: 'shop',
      rootLogin: 'root',
      rootPassword: 'correct horse battery',
    });
    const slow = { statement: preparedText("select 'slow', pg_sleep(0.05), $1::text"), values: ['a value'] };
    const quick = { statement: preparedText("select 'quick'"), values: [] };
    for (let i = 0; i < 5; i++)
      await database.transactions.run({ tenantid, mode: 'read', statements: [quick, slow] });
    expect(statements("'quick'")).to.have.length(5);
    const traced = statements("'slow'");
    const plans = traced.map(({ plan }) => plan);
    expect(plans[0]).to.equal(null);
    expect(plans[4]).to.be.a('string').and.equal(slow.statement.name);
    // Counted from the response before, which may have come late.
    for (const { ms } of traced) expect(ms).to.be.at.least(25);
    expect(statements("set_config('role', $1, true)"), 'what enters the role').to.not.deep.equal([]);
    expect(JSON.stringify(lines)).to.not.include('a value');
  });

  it('logs the failing statement', async () => {
    const statement = preparedText('select 1 / 0 as failing');
    const outcome = await open('trace').transactions.run({
      tenantid: null,
      mode: 'read',
      statements: [{ statement, values: [] }],
    });
    expect(outcome.kind).to.equal('failed');
    expect(statements('failing')).to.have.length(1);
  });

  it("logs the service's own statements and the ledger's, with the ledger's names", async () => {
    const database = open('trace');
    await database.pool.query("select 'pool'");
    await database.ledger.query({ name: 'ledger_one', text: fixed("select 'ledger'") }, []);
    expect(statements("'pool'")).to.have.length(1);
    expect(statements("'ledger'").map(({ plan }) => plan)).to.deep.equal(['ledger_one']);
  });

  it('logs no role passwords', async () => {
    const database = open('trace');
    await database.pool.query("select 1; do $$ begin perform 'password ''kept secret'''; end $$");
    expect(statements('password')).to.have.length(1);
    expect(JSON.stringify(lines)).to.not.include('kept secret');
  });

  it('is the only level that logs statements', async () => {
    const database = open('debug');
    await database.pool.query('select 1');
    await database.transactions.run({
      tenantid: null,
      mode: 'read',
      statements: [{ statement: preparedText('select 2'), values: [] }],
    });
    expect(statements('select')).to.deep.equal([]);
  });
});
