import { expect } from 'chai';
import pg from 'pg';
import { adoptTenant, type CreatedTenant } from '../../src/control/tenants/tenants.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { PrincipalSource, type Principal } from '../../src/db/roles/principal.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { createDataEngine, type DataEngine } from '../../src/graphql/dataEngine.js';
import { testConfig, testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/**
 * Whoever may create in `public` makes operators and functions there that match the service's statements better than
 * PostgreSQL's own, and waits for somebody else to run them.
 */
describe("an attacker's operators in public", () => {
  let test: TestDatabase;
  let attacker: pg.Client;
  let role: string;
  let engine: DataEngine;
  let plain: CreatedTenant;
  let withCode: CreatedTenant;
  let adopted: CreatedTenant;

  before(async () => {
    test = await createTestDatabase();
    const { pool } = test.database;
    const { rows } = await pool.query<{ oid: number; database: string }>(
      'select oid, datname as database from pg_database where datname = current_database()',
    );
    role = `attacker_${rows[0]!.oid}`;
    await pool.query(`create role ${role} login password 'attacker'`);
    await pool.query(`grant connect, create on database ${rows[0]!.database} to ${role}`);
    await pool.query(`grant create on schema public to ${role}`);
    const url = new URL(test.url);
    url.username = role;
    url.password = 'attacker';
    attacker = new pg.Client({ connectionString: url.href });
    await attacker.connect();
    engine = createDataEngine({
      database: test.database,
      config: testConfig(),
      log: testLog,
      onCommitted: () => undefined,
    });

    const create = (name: string): Promise<CreatedTenant> =>
      createTestTenant(pool, { name, rootLogin: 'root', rootPassword: 'correct horse' });
    plain = await create('plain');
    withCode = await create('withcode');
    const tables = `
      create table secret (id int primary key, word varchar(20), score int2, day date, tags text[]);
      insert into secret values (1, 'swordfish', 3, '2026-01-02', '{a}');`;
    await runTenantSql(test.database, { tenantid: plain.tenantid, sql: tables });
    const code = 'create function own_code() returns int language sql as $$ select 1 $$';
    await runTenantSql(test.database, { tenantid: withCode.tenantid, sql: `${tables} ${code}` });
    await attacker.query('create schema crm; set search_path = crm, public');
    await attacker.query(tables);
    await pool.query(`grant ${role} to current_user`);
    adopted = await adoptTenant(pool, {
      name: 'adopted',
      schema: 'crm',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    const adoptedRole = (await test.database.tenants.names()).tenant(adopted.tenantid);
    // The worst that an application may have.
    await pool.query(
      `alter role ${adoptedRole} in database ${rows[0]!.database} set search_path = crm, public, pg_catalog`,
    );
    for (const { tenantid, schema } of [plain, withCode, adopted]) await engine.introspect(tenantid, schema);
  });
  after(async () => {
    await attacker.end();
    await test.database.pool.query(`drop owned by ${role} cascade`).catch(() => undefined);
    await test.drop();
  });

  const rootOf = async ({ tenantid, rootRoleid }: CreatedTenant): Promise<Principal> =>
    (await new PrincipalSource(test.database.pool).load(tenantid, rootRoleid))!;
  const ask = async (tenant: CreatedTenant, query: string): Promise<string> =>
    (await engine.execute(await rootOf(tenant), { query }, { allowMutation: true })).body;

  it('read password hashes with the rights of the service', async () => {
    await attacker.query(`
      create table public.loot (thief text, hash text);
      grant insert on public.loot to public;
      create function public.steal(oid, regclass) returns bool language plpgsql as $$ begin
        insert into public.loot select current_user, password_hash from rowpost.role;
        return pg_catalog.int8eq($1::bigint, $2::oid::bigint); end $$;
      create operator public.= (leftarg = oid, rightarg = regclass, function = public.steal)`);
    await engine.introspect(plain.tenantid, plain.schema);
    await test.database.tenants.settle(plain.tenantid, plain.schema);
    const { rows } = await attacker.query('select * from public.loot');
    expect(rows).to.deep.equal([]);
  });

  /** What is made in public, and a filter whose statement would run it. */
  const traps: readonly (readonly [made: string, filter: string])[] = [
    ['= (varchar, text)', "word = 'swordfish'"],
    ['~~ (varchar, text)', "word like 'sword%'"],
    ['>= (int2, int4)', 'score between 1 and 5'],
    ['= (int2, int4)', 'score in (3, 4)'],
    ['= (int2, int2)', 'score is not distinct from score'],
    ['< (date, timestamptz)', "day < '2030-01-01T00:00:00Z'"],
    ['&& (_text, _text)', 'overlaps(tags, tags)'],
    ['|| (text, text)', 'score > 0'],
    ['to_json(varchar)', 'score > 0'],
    ['octet_length(text)', 'score > 0'],
    ['octet_length(varchar)', 'length(word) > 0'],
    ['btrim(varchar)', "trim(word) = 'swordfish'"],
  ];

  /** Fails the statement that runs it, and says as whom. */
  async function withTrap(made: string, work: () => Promise<void>): Promise<void> {
    const [, operator, left = '', right = ''] = /^(\S+) \((\w+), (\w+)\)$/.exec(made) ?? [];
    const head = operator === undefined ? made : `trap(${left}, ${right})`;
    await attacker.query(`create function public.${head} returns bool language plpgsql as
      $$ begin raise exception 'run by %', session_user; end $$`);
    if (operator !== undefined) {
      await attacker.query(
        `create operator public.${operator} (leftarg = ${left}, rightarg = ${right}, function = public.trap)`,
      );
    }
    try {
      await work();
    } finally {
      await attacker.query(`drop function public.${head} cascade`);
    }
  }

  for (const access of ['shared', 'own', 'adopted'] as const) {
    const tenant = (): CreatedTenant => ({ shared: plain, own: withCode, adopted })[access];
    const how = {
      shared: "enter another tenant's role from the shared login",
      own: 'run as a tenant with code of its own',
      adopted: 'run as the tenant of an adopted schema',
    }[access];
    it(how, async () => {
      expect(test.database.tenants.loginOf(tenant().tenantid)).to.equal(
        access === 'shared' ? 'shared' : tenant().tenantid,
      );
      for (const [made, filter] of traps) {
        await withTrap(made, async () => {
          const body = await ask(tenant(), `{ secret(filter: ${JSON.stringify(filter)}) { word } }`);
          expect(body, made).to.equal('{"data":{"secret":[{"word":"swordfish"}]}}');
        });
      }
    });
  }
});
