import { expect } from 'chai';
import type pg from 'pg';
import { findNotPlain } from '../../src/db/isolation/plainSchema.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/**
 * Extensions that PostgreSQL trusts belong to whoever installs them, who may create in the database, as an application's role may. He
 * can add objects of his own to them.
 */
describe('attack: a tenant without code uses what the owner of an extension added to it', () => {
  let test: TestDatabase;
  let client: pg.PoolClient;
  before(async () => {
    test = await createTestDatabase();
    const { pool } = test.database;
    client = await pool.connect();
    const { rows } = await client.query<{ database: string; role: string }>(
      `select current_database() as database, 'app_' || oid as role from pg_database where datname = current_database()`,
    );
    const { database, role } = rows[0]!;
    await client.query(`begin; create role ${role}; grant ${role} to current_user;
      grant create on database ${database} to ${role}; set local role ${role};
      create schema app; set local search_path = app; create extension hstore;
      create function f(text) returns boolean language plpgsql as $$ begin return set_config('role', 'none', true) is not null; end $$;
      create domain d as text check (app.f(value)); create table p (id int primary key);
      create view v as select 1 as a where app.f('');
      alter extension hstore add domain d; alter extension hstore add table p; alter extension hstore add view v;
      grant usage on schema app to public; grant select, references on p, v to public;
      reset role; create schema mine; set local search_path = mine`);
  });
  after(async () => {
    await client.query('rollback');
    client.release();
    await test.drop();
  });

  const kind = async (sql: string): Promise<string | undefined> => {
    await client.query(`savepoint before; ${sql}`);
    const found = await findNotPlain(client, 'mine', {
      shared: 'rowpost_shared',
      tenant: 'rowpost_tenant_1',
    });
    await client.query('rollback to savepoint before');
    return found;
  };

  for (const [what, sql] of [
    ['a domain', 'create table t (a app.d)'],
    ['a domain in a default', `create table t (a int default length('a'::text::app.d))`],
    ['a table', 'create table t (a int references app.p on delete cascade)'],
    ['a view', 'create view w as select a from app.v'],
  ] as const) {
    it(`${what} requires dedicated connections`, async () => {
      expect(await kind(sql)).to.be.a('string');
    });
  }

  it('what the extension brings does not', async () => {
    expect(await kind('create table t (a app.hstore)')).to.equal(undefined);
  });
});
