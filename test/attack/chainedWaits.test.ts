import { expect } from 'chai';
import type pg from 'pg';
import { createTestTenant } from '../support/createTestTenant.js';
import { ServerGuard } from '../../src/db/isolation/serverGuard.js';
import { identifier, statement } from '../../src/db/sql/sql.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';

const PATIENCE = { serviceMs: 200, autovacuumMs: 60_000, transactions: 200_000_000 };

/**
 * Whoever held what the service waits for, and waited for another tenant's session itself, had that one ended: its scripts, dumps and
 * long requests, again and again.
 */
describe('attack: a tenant that the service waits for waits for another one', () => {
  let test: TestDatabase;
  let hostile: pg.Client;
  let other: pg.Client;
  let table: readonly [string, string];
  let roles: readonly string[];
  let service: pg.Client;
  beforeEach(async () => {
    test = await createTestDatabase();
    const { pool, tenants, createClient } = test.database;
    const named = { rootLogin: 'root', rootPassword: 'correct horse' };
    const made = [
      await createTestTenant(pool, { ...named, name: 'hostile' }),
      await createTestTenant(pool, { ...named, name: 'other' }),
    ] as const;
    const names = await tenants.names();
    roles = made.map(({ tenantid }) => names.tenant(tenantid));
    table = [made[0].schema, 'notes'];
    [hostile, other] = [
      await tenants.connectDirectly(made[0].tenantid),
      await tenants.connectDirectly(made[1].tenantid),
    ];
    for (const session of [hostile, other]) session.on('error', () => undefined);
    await hostile.query(statement`create table ${identifier(...table)} (id int)`);
    await hostile.query('set lock_timeout = 0');
    service = createClient();
    await service.connect();
    // A long read.
    await other.query('begin isolation level repeatable read');
    await other.query('select pg_advisory_xact_lock(42)');
  });
  afterEach(async () => {
    for (const session of [hostile, other, service]) await session.end().catch(() => undefined);
    await test.drop();
  });

  const waits = (count: number): Promise<unknown> =>
    waitFor(`${count} to wait`, async () => {
      const { rowCount } = await test.database.pool.query('select from pg_locks where not granted');
      return rowCount === count;
    });

  const onlyHostileEnds = async (work: Promise<unknown>): Promise<void> => {
    await waits(2);
    const { createClient, tenants } = test.database;
    const guard = new ServerGuard(createClient, () => tenants.names(), PATIENCE);
    const ended: string[] = [];
    await waitFor('a session to be ended', async () => {
      ended.push(...(await guard.endHoldingSessions()).map(({ role }) => role));
      return ended.length > 0;
    });
    await work;
    await guard.close();
    expect(ended).to.deep.equal([roles[0]]);
    await other.query('commit');
  };

  it('by an index that it creates concurrently', async () => {
    hostile
      .query(statement`create index concurrently on ${identifier(...table)} (id)`)
      .catch(() => undefined);
    await waits(1);
    await onlyHostileEnds(
      service.query(statement`begin; lock table ${identifier(...table)} in share row exclusive mode; commit`),
    );
  });

  it('by an advisory lock', async () => {
    await hostile.query('begin; revoke usage on schema rowpost_tenant from public');
    hostile.query('select pg_advisory_lock(42)').catch(() => undefined);
    await waits(1);
    await onlyHostileEnds(
      service.query(statement`grant usage on schema rowpost_tenant to ${identifier(roles[0]!)}`),
    );
  });
});
