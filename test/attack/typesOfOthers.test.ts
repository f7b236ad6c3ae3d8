import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

/**
 * The checks of a domain are code of its owner, and run in the session of whoever has a value of it. PostgreSQL asks for no right to
 * use a type that is given by its oid.
 */
describe('attack: a tenant without code computes with a type of another tenant', () => {
  let shop: Shop;
  let accomplice: CreatedTenant;
  let victim: CreatedTenant;
  before(async () => {
    shop = await openShop('create table notes (id int primary key)');
    const { database } = shop.test;
    const create = (name: string): Promise<CreatedTenant> =>
      createTestTenant(database.pool, { name, rootLogin: 'root', rootPassword: 'correct horse' });
    [accomplice, victim] = [await create('accomplice'), await create('victim')];
    const run = ({ tenantid }: CreatedTenant, sql: string): Promise<unknown> =>
      runTenantSql(database, { tenantid, sql });
    await run(victim, `create table secret (word text); insert into secret values ('swordfish')`);
    await database.tenants.settle(victim.tenantid, victim.schema);
    const names = await database.tenants.names();
    await run(
      accomplice,
      `create function steal(text) returns boolean language plpgsql as $$ declare word text; begin
         perform set_config('role', 'none', true); perform set_config('role', '${names.tenant(victim.tenantid)}', true);
         execute 'select word from ${victim.schema}.secret' into word;
         raise exception '%', word; end $$;
       create domain d as text check (${accomplice.schema}.steal(value)); create type c as (a d);
       grant usage on schema ${accomplice.schema} to ${names.tenant(shop.tenant.tenantid)}`,
    );
  });
  after(() => shop.close());

  const response = async (sql: string, request: string): Promise<string> => {
    const { tenantid, schema } = shop.tenant;
    await shop.sql(`drop view if exists v; drop table if exists t; ${sql}`);
    await shop.test.database.tenants.settle(tenantid, schema);
    return (await shop.ask(request)).body;
  };
  const oidOf = async (type: string): Promise<string> => {
    const { rows } = await shop.test.database.pool.query<{ oid: string }>(
      'select to_regtype($1)::oid::text as oid',
      [`${accomplice.schema}.${type}`],
    );
    return `${rows[0]?.oid}::oid`;
  };

  for (const [by, value] of [
    ['domain_in', async () => `num_nulls(domain_in('x'::cstring, ${await oidOf('d')}, -1))`],
    ['array_in', async () => `num_nulls(array_in('{x}'::cstring, ${await oidOf('d')}, -1))`],
    ['record_in', async () => `record_in('(x)'::cstring, ${await oidOf('c')}, -1)::text`],
  ] as const) {
    it(`by ${by} in a view`, async () => {
      expect(await response(`create view v as select ${await value()} as a`, '{ v { a } }')).not.to.include(
        'swordfish',
      );
    });
  }

  for (const [by, sql] of [
    ['a default', () => `create table t (id int primary key, a int default length('x'::text::$.d))`],
    ['an index', () => 'create table t (id int primary key); create index on t (length(id::text::$.d))'],
  ] as const) {
    it(`by ${by}`, async () => {
      const create = sql().replace('$', accomplice.schema);
      expect(await response(create, 'mutation { create_t(input: {id: 1}) { id } }')).not.to.include(
        'swordfish',
      );
    });
  }
});
