import { expect } from 'chai';
import type pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { createTestTenant } from '../support/createTestTenant.js';
import { ServerGuard } from '../../src/db/isolation/serverGuard.js';
import { identifier, statement } from '../../src/db/sql/sql.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { waitFor } from '../support/waitFor.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

/** PostgreSQL locks what a statement is about before it asks whose it is. Whoever waits for such a lock holds up all others. */
describe('attack: a tenant waits for a lock before which all tenants would queue', () => {
  let shop: Shop;
  let guard: ServerGuard;
  let attackerid: number;
  let attackerSchema: string;
  let session: pg.Client;
  before(async () => {
    shop = await openShop('create table notes (id int primary key)');
    const { database } = shop.test;
    const { tenants } = database;
    guard = new ServerGuard(database.createClient, () => tenants.names());
    await guard.endHoldingSessions();
    const named = { name: 'attacker', rootLogin: 'root', rootPassword: 'correct horse' };
    const { tenantid, schema } = await createTestTenant(database.pool, named);
    attackerid = tenantid;
    attackerSchema = schema;
    await runTenantSql(database, {
      tenantid,
      sql: 'create function f() returns int return 1; create table note (id int primary key)',
    });
    session = await tenants.connectDirectly(tenantid);
    session.on('error', () => undefined);
  });
  after(async () => {
    await session.end().catch(() => undefined);
    await guard.close();
    await shop.close();
  });

  const waits = async (): Promise<number> => {
    const { rowCount } = await shop.test.database.pool.query('select from pg_locks where not granted');
    return rowCount ?? 0;
  };

  for (const [number, lock] of [
    'create rule r as on insert to rowpost_tenant.event do nothing',
    'create trigger r instead of insert on rowpost_tenant.event for each row execute function suppress_redundant_updates_trigger()',
    'alter table note add foreign key (id) references rowpost_tenant.event',
  ].entries()) {
    it(`on what they write events by: ${lock}`, async () => {
      const [holding, waiting] = [session, await shop.test.database.tenants.connectDirectly(attackerid)];
      waiting.on('error', () => undefined);
      await shop.data(`mutation { create_notes(input: {id: ${2 * number}}) { id } }`);
      await holding.query(
        `begin; insert into rowpost_tenant.event (operation, target, key) values ('insert', 't', '{}')`,
      );
      const failure = waiting
        .query(`set lock_timeout = 0; set search_path = ${attackerSchema}; ${lock}`)
        .then(
          () => 'none',
          (error: unknown) => (error as Error).message,
        );
      await waitFor('the wait', async () => (await waits()) > 0);
      const write = shop.data(`mutation { create_notes(input: {id: ${2 * number + 1}}) { id } }`);
      await waitFor('a write behind it', async () => (await waits()) > 1);
      const ended = await guard.endHoldingSessions();
      expect(ended).to.have.length(1);
      await write;
      expect(await failure).to.match(/terminat/i);
      // Whoever holds nothing up goes on.
      await holding.query('commit');
      await waiting.end().catch(() => undefined);
    });
  }

  it('that a script of another waits for', async () => {
    const { database } = shop.test;
    const { tenantid } = shop.tenant;
    const holding = await database.tenants.connectDirectly(attackerid);
    holding.on('error', () => undefined);
    // It may not read the view, which PostgreSQL says once the statement runs.
    await holding.query('begin; prepare p as select from rowpost_tenant.replica_lock');
    const impatient = new ServerGuard(database.createClient, () => database.tenants.names(), {
      serviceMs: 200,
      autovacuumMs: 60_000,
      transactions: 200_000_000,
    });
    const script = runTenantSql(database, { tenantid, sql: 'select 1' });
    await waitFor('the session to be ended', async () => (await impatient.endHoldingSessions()).length > 0);
    await script;
    await impatient.close();
    await holding.end().catch(() => undefined);
  });

  it('on the database, for which new connections wait', async () => {
    const client = shop.test.database.createClient();
    await client.connect();
    const { rows } = await client.query<{ name: string }>('select current_database()::text as name');
    const name = identifier(rows[0]!.name);
    // As a connection that takes long to start.
    await client.query(statement`begin; comment on database ${name} is 'held'`);
    const failure = session
      .query(statement`set lock_timeout = 0; alter database ${name} rename to other`)
      .then(
        () => 'none',
        (error: unknown) => (error as Error).message,
      );
    await waitFor('the session to be ended', async () => (await guard.endHoldingSessions()).length > 0);
    expect(await failure).to.match(/terminat/i);
    await client.end();
  });

  for (const catalog of ['pg_class', 'pg_authid', 'pg_attribute']) {
    it(`on ${catalog}, which all read`, async () => {
      const { tenants, pool } = shop.test.database;
      const [holding, waiting] = [
        await tenants.connectDirectly(attackerid),
        await tenants.connectDirectly(attackerid),
      ];
      for (const session of [holding, waiting]) session.on('error', () => undefined);
      await holding.query('begin; select from pg_stat_activity, pg_class, pg_attribute limit 1');
      const failure = waiting
        .query(
          statement`set lock_timeout = 0; create rule r as on insert to ${identifier('pg_catalog', catalog)} do nothing`,
        )
        .then(
          () => 'none',
          (error: unknown) => (error as Error).message,
        );
      await delay(500);
      const asked = pool.query(
        'select from pg_catalog.pg_roles, pg_catalog.pg_class, pg_catalog.pg_attribute limit 1',
      );
      const ended = await guard.endHoldingSessions();
      await asked;
      expect(ended).to.have.length(1);
      expect(await failure).to.match(/terminat/i);
      await holding.end();
      await waiting.end().catch(() => undefined);
    });
  }
});
