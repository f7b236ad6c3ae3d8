import { expect } from 'chai';
import pg from 'pg';
import { createTenant, runTenantSql } from '../../src/db/control/tenants.js';
import { preparedText } from '../../src/db/preparedStatements.js';
import { tenantRole, type Transactions, type TransactionOutcome } from '../../src/db/tenantTransaction.js';
import { openShop, type Shop } from './support/shop.js';

/** Wall one, the rules compiled into the SQL, is left out: statements are written by hand, as a mistake would write them. */
describe('wall two: the database role of a tenant', () => {
  let shop: Shop;
  let transactions: Transactions;
  let otherSchema: string;

  before(async () => {
    shop = await openShop('create table own (id int primary key); insert into own values (1)');
    const { database } = shop.test;
    const other = await createTenant(database.knex, {
      name: 'other',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    otherSchema = other.schema;
    await runTenantSql(database, {
      tenantid: other.tenantid,
      sql: "create table secret (id int primary key, word text); insert into secret values (1, 'swordfish'); create view peek as select * from secret; create sequence counter",
    });
    ({ transactions } = database);
  });
  after(() => shop.close());

  const run = (text: string, mode: 'read' | 'write' = 'write'): Promise<TransactionOutcome> =>
    transactions.run({
      role: tenantRole(shop.tenant.tenantid),
      mode,
      statements: [{ statement: preparedText(text), values: [] }],
    });

  it('reaches its own tables', async () => {
    const outcome = await run(`select id::text from ${shop.tenant.schema}.own`);
    expect(outcome).to.deep.equal({ kind: 'done', results: [[['1']]] });
  });

  const attempts: [what: string, sql: (other: string) => string][] = [
    ['read a table', (other) => `select word from ${other}.secret`],
    ['read a view', (other) => `select word from ${other}.peek`],
    ['insert', (other) => `insert into ${other}.secret values (2, 'x')`],
    ['update', (other) => `update ${other}.secret set word = 'x'`],
    ['delete', (other) => `delete from ${other}.secret`],
    ['truncate', (other) => `truncate ${other}.secret`],
    ['lock', (other) => `lock table ${other}.secret`],
    ['use a sequence', (other) => `select nextval('${other}.counter')`],
    ['create a table', (other) => `create table ${other}.mine (id int)`],
    ['drop a table', (other) => `drop table ${other}.secret`],
    ['read by a subquery', (other) => `select (select word from ${other}.secret limit 1)`],
    [
      'write inside a CTE',
      (other) => `with gone as (delete from ${other}.secret returning *) select count(*) from gone`,
    ],
  ];
  for (const [what, statement] of attempts) {
    it(`can not ${what} of another tenant`, async () => {
      expectDenied(await run(statement(otherSchema)));
    });
  }

  it('can not read or write any table of the control schema', async () => {
    const { rows } = await shop.test.database.pool.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'rowpost'::regnamespace and relkind in ('r', 'p', 'v')",
    );
    expect(rows.map((row) => row.name)).to.include.members([
      'tenant',
      'role',
      'policy_rule',
      'email_apikey',
      'outbox',
    ]);
    for (const { name } of rows) {
      expectDenied(await run(`select count(*)::text from rowpost."${name}"`));
      expectDenied(await run(`delete from rowpost."${name}"`));
    }
  });

  it('can only record changes as its own', async () => {
    const capture = `select rowpost_tenant.capture_change(1, 'insert', 'own', '{}', null, '{}')::text`;
    expect((await run(capture)).kind).to.equal('done');
    const [event] = await shop.events();
    expect(event!.tenantid).to.equal(shop.tenant.tenantid);
    expectDenied(
      await run(
        "insert into rowpost.outbox (tenantid, roleid, operation, target, key) values (1, 1, 'x', 'x', '{}')",
      ),
    );
  });

  it('can not write in a transaction for reads', async () => {
    const outcome = await run(`insert into ${shop.tenant.schema}.own values (2)`, 'read');
    expect(outcome.kind).to.equal('failed');
    expect(sqlState(outcome)).to.equal('25006');
  });
});

function expectDenied(outcome: TransactionOutcome): void {
  expect(sqlState(outcome), JSON.stringify(outcome)).to.equal('42501');
}

function sqlState(outcome: TransactionOutcome): string | undefined {
  const cause = outcome.kind === 'failed' ? outcome.error.cause : undefined;
  return cause instanceof pg.DatabaseError ? cause.code : undefined;
}
