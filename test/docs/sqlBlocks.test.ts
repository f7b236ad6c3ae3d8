import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { migrateDirectory, useDirectory } from '../../src/db/cells/directory/directory.js';
import { excessRights, missingRights } from '../../src/db/isolation/rights.js';
import { runSql } from '../support/runSql.js';
import { startSeparateCluster, type SeparateCluster } from '../support/separateCluster.js';
import { testLog } from '../support/testConfig.js';

/** Statements of a page's only block of SQL. @param page below docs/ */
function statementsOf(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const [block, ...others] = [...text.matchAll(/^( *)```sql\n(.*?)^\1```$/gms)];
  if (!block || others.length > 0) throw new Error(`docs/${page} has not one block of SQL`);
  return block[2]!.split(/;\n/).filter((statement) => statement.trim() !== '');
}

/** In an empty cluster, as whom the page says. */
describe('SQL for administrators', () => {
  let cluster: SeparateCluster;
  before(async () => {
    cluster = await startSeparateCluster();
    await cluster.stop();
    const rules = path.join(cluster.data, 'pg_hba.conf');
    writeFileSync(rules, `host all postgres 127.0.0.1/32 trust\n${readFileSync(rules, 'utf8')}`);
    await cluster.start();
    await run('postgres', [
      'alter database rowpost rename to earlier',
      'alter role rowpost rename to earlier',
    ]);
  });
  after(() => cluster.stop());

  const urlOf = (database: string, user = 'postgres', password = ''): string => {
    const url = new URL(cluster.superuserUrl);
    return Object.assign(url, { pathname: `/${database}`, username: user, password }).href;
  };

  async function run(database: string, statements: readonly string[]): Promise<void> {
    for (const statement of statements) await runSql(urlOf(database), statement);
  }

  /** @returns the rows of a statement */
  async function read(url: string, statement: string): Promise<readonly object[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<object>(statement)).rows;
    } finally {
      await client.end();
    }
  }

  it('of docs/how-to/run.md makes a role with the rights that the service needs, and no more', async () => {
    await run('postgres', statementsOf('how-to/run.md'));
    const pool = new pg.Pool({ connectionString: urlOf('rowpost', 'rowpost', 'change-me'), max: 1 });
    try {
      expect(await missingRights(pool)).to.deep.equal([]);
      expect(await excessRights(pool)).to.deep.equal({ role: 'rowpost', rights: [] });
    } finally {
      await pool.end();
    }
  });

  it('of docs/how-to/poolers.md lets PgBouncer look passwords up, and nobody else', async () => {
    await run('rowpost', statementsOf('how-to/poolers.md'));
    const lookup = `select usename, passwd from pgbouncer.lookup('rowpost')`;
    const [found] = await read(urlOf('rowpost', 'pgbouncer', '…'), lookup);
    expect(found)
      .to.have.property('passwd')
      .that.matches(/^SCRAM-SHA-256\$/);
    const refusal = await read(urlOf('rowpost', 'rowpost', 'change-me'), lookup).catch(
      (error: unknown) => error,
    );
    expect(String(refusal)).to.include('permission denied');
  });

  it('of docs/how-to/cells.md lets a role read the directory, and not change it', async () => {
    await run('postgres', [
      'create database directory owner rowpost',
      `create role rowpost_reader login password 'r'`,
    ]);
    const owner = urlOf('directory', 'rowpost', 'change-me');
    await useDirectory(owner, 'test', testLog, async (directory) => {
      await migrateDirectory(directory);
    });
    for (const statement of statementsOf('how-to/cells.md')) await runSql(owner, statement);
    const reader = urlOf('directory', 'rowpost_reader', 'r');
    expect(await read(reader, 'select from rowpost_directory.cell')).to.deep.equal([]);
    const refusal = await read(reader, 'delete from rowpost_directory.cell').catch((error: unknown) => error);
    expect(String(refusal)).to.include('permission denied');
  });

  it('of docs/how-to/monitor.md finds the oldest transaction', async () => {
    const [statement = ''] = statementsOf('how-to/monitor.md');
    const holder = new pg.Client({ connectionString: urlOf('rowpost') });
    await holder.connect();
    await holder.query('begin');
    await holder.query('select 1 as held');
    const [oldest] = await read(urlOf('rowpost'), statement);
    await holder.end();
    expect(oldest).to.deep.include({ state: 'idle in transaction', last_statement: 'select 1 as held' });
  });

  it('of docs/how-to/carriers.md inserts each due reminder once', async () => {
    await run('rowpost', [
      'create table orders (order_id int primary key, due date, paid date)',
      'create table reminder (order_id int references orders)',
      `insert into orders values (1, '2020-01-01', null), (2, '2020-01-01', '2020-01-02'), (3, '2999-01-01', null)`,
    ]);
    for (let day = 0; day < 2; day += 1) await run('rowpost', statementsOf('how-to/carriers.md'));
    expect(await read(urlOf('rowpost'), 'select * from reminder')).to.deep.equal([{ order_id: 1 }]);
  });
});
