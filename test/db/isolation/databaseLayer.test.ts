import { expect } from 'chai';
import pg from 'pg';
import { createTestTenant } from '../../support/createTestTenant.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { preparedText } from '../../../src/db/pool/preparedStatements.js';
import type { Transactions, TransactionOutcome } from '../../../src/db/pool/transactions.js';
import { openShop, type Shop } from '../../graphql/support/shop.js';
import { waitFor } from '../../support/waitFor.js';
import { formatted } from '../../../src/db/sql/sql.js';

/** Layer one, the rules compiled into the SQL, is left out: statements are written by hand, as a mistake would write them. */
for (const access of ['shared', 'own'] as const) {
  describe(`layer two: the database role of a tenant, on ${access === 'shared' ? 'shared connections' : 'dedicated connections'}`, () => {
    let shop: Shop;
    let transactions: Transactions;
    let otherSchema: string;
    let otherTenantid: number;

    before(async () => {
      shop = await openShop('create table own (id int primary key); insert into own values (1)');
      const { database } = shop.test;
      const other = await createTestTenant(database.pool, {
        name: 'other',
        rootLogin: 'root',
        rootPassword: 'correct horse',
      });
      otherSchema = other.schema;
      otherTenantid = other.tenantid;
      await runTenantSql(database, {
        tenantid: other.tenantid,
        sql: "create table secret (id int primary key, word text); insert into secret values (1, 'swordfish'); create view peek as select * from secret; create sequence counter",
      });
      ({ transactions } = database);
      if (access === 'own')
        await shop.sql('create function own_code() returns int language sql as $$ select 1 $$');
      await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
      expect(database.tenants.loginOf(shop.tenant.tenantid)).to.equal(
        access === 'own' ? shop.tenant.tenantid : 'shared',
      );
    });
    after(() => shop.close());

    const run = (text: string, mode: 'read' | 'write' = 'write'): Promise<TransactionOutcome> =>
      transactions.run({
        tenantid: shop.tenant.tenantid,
        mode,
        statements: [{ statement: preparedText(formatted(text)), values: [] }],
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
      ['lock', (other) => `do $$ begin lock table ${other}.secret; end $$`],
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

    it('leaves nothing in a session that serves another tenant next', async () => {
      await shop.engine.introspect(otherTenantid, otherSchema);
      await run("select set_config('my.word', 'left', false), set_config('statement_timeout', '9s', false)");
      await waitFor('the session to be idle', () => shop.test.database.tenants.use.inUse === 0);
      const look = preparedText(
        "select concat(current_setting('my.word', true), current_setting('statement_timeout'))",
      );
      const request = {
        tenantid: otherTenantid,
        mode: 'write',
        statements: [{ statement: look, values: [] }],
      } as const;
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => transactions.run(request)));
      for (const outcome of outcomes) expect(outcome).to.deep.equal({ kind: 'done', results: [[['15s']]] });
    });

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

    const record = (columns: string, values: string): string =>
      `insert into rowpost_tenant.event (${columns}) values (${values})`;
    const EVENT = 'roleid, operation, target, key, new';
    const VALUES = "1, 'insert', 'own', '{}', '{}'";

    for (const [door, statement] of [
      ['the view', record(EVENT, VALUES)],
      ['the function', `select rowpost_tenant.capture_change(1, 'insert', 'own', '{}', null, '{}')::text`],
    ] as const) {
      it(`can record changes only as its own, through ${door}`, async () => {
        expect((await run(statement)).kind).to.equal('done');
        const event = (await shop.events()).at(-1)!;
        expect(event.tenantid).to.equal(shop.tenant.tenantid);
        expectDenied(
          await run(
            "insert into rowpost.outbox (tenantid, roleid, operation, target, key) values (1, 1, 'x', 'x', '{}')",
          ),
        );
      });
    }

    // The view has no such column.
    const forged: [column: string, value: string][] = [
      ['tenantid', '1'],
      ['eventid', '1'],
      ['xid', "'3'"],
      ['time', "'2020-01-01'"],
      ['file', "'{}'"],
    ];
    for (const [column, value] of forged) {
      it(`can not choose the ${column} of an event`, async () => {
        const outcome = await run(record(`${EVENT}, ${column}`, `${VALUES}, ${value}`));
        expect(sqlState(outcome), JSON.stringify(outcome)).to.equal('42703');
      });
    }

    const others: [what: string, sql: string][] = [
      ['read', 'select count(*)::text from rowpost_tenant.event'],
      ['read back', `${record(EVENT, VALUES)} returning target`],
      ['update', "update rowpost_tenant.event set target = 'x'"],
      ['delete', 'delete from rowpost_tenant.event'],
      ['lock', 'do $$ begin lock table rowpost_tenant.event; end $$'],
      ['drop', 'drop view rowpost_tenant.event'],
      ['replace', 'create or replace view rowpost_tenant.event as select 1 as roleid'],
      ['take rights on', 'alter view rowpost_tenant.event set (security_invoker = true)'],
      ['give itself defaults for', 'alter view rowpost_tenant.event alter column roleid set default 2'],
      [
        'put a rule on',
        'create rule mine as on insert to rowpost_tenant.event do also select count(*) from rowpost.outbox',
      ],
    ];
    for (const [what, statement] of others) {
      it(`can not ${what} events`, async () => {
        const before = (await shop.events()).length;
        expectDenied(await run(statement));
        expect((await shop.events()).length).to.equal(before);
      });
    }

    it('can not read events through a view of its own', async () => {
      await run(`create view ${shop.tenant.schema}.spy as select target from rowpost_tenant.event`);
      expectDenied(await run(`select target from ${shop.tenant.schema}.spy`));
    });

    it('can not write in a read-only transaction', async () => {
      const outcome = await run(`insert into ${shop.tenant.schema}.own values (2)`, 'read');
      expect(outcome.kind).to.equal('failed');
      expect(sqlState(outcome)).to.equal('25006');
    });
  });
}

function expectDenied(outcome: TransactionOutcome): void {
  expect(sqlState(outcome), JSON.stringify(outcome)).to.equal('42501');
}

function sqlState(outcome: TransactionOutcome): string | undefined {
  const cause = outcome.kind === 'failed' ? outcome.error.cause : undefined;
  return cause instanceof pg.DatabaseError ? cause.code : undefined;
}
