import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { captureTable } from '../../../../src/control/utility/capture.js';
import type { Writers } from '../../../../src/db/capture/capture.js';
import { adoptTenant, deleteTenant, type AdoptedTenant } from '../../../../src/control/tenants/tenants.js';
import { createDataEngine, type DataEngine } from '../../../../src/graphql/dataEngine.js';
import { testConfig, testLog } from '../../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../../support/testDatabase.js';
import { inTransaction } from '../../../../src/db/pool/inTransaction.js';

/** How long a change waits here, a fraction of a second at a time. */
const LONG_MS = 2_500;
/** Less than `lockTimeoutMs`, for which everybody else waited before. */
const MAX_WAIT_MS = 4_500;

describe('tables of an application that is running', () => {
  let test: TestDatabase;
  let holder: pg.Client;
  let app: pg.Client;
  let engine: DataEngine;
  let tenant: AdoptedTenant;

  before(async () => {
    test = await createTestDatabase();
    [holder, app] = [new pg.Client(test.url), new pg.Client(test.url)];
    await Promise.all([holder.connect(), app.connect()]);
    await app.query('create schema crm; set search_path = crm');
    await app.query(
      'create table orders (id serial primary key); create table visit (id serial primary key)',
    );
    const { database } = test;
    engine = createDataEngine({ database, config: testConfig(), log: testLog, onCommitted: () => undefined });
    tenant = await adoptTenant(database.pool, {
      name: 'crm',
      schema: 'crm',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
  });
  after(async () => {
    await Promise.all([holder.end(), app.end()]);
    await test.drop();
  });

  async function capture(table: string, writers: Writers): Promise<void> {
    const catalog = await engine.introspect(tenant.tenantid, tenant.schema);
    await inTransaction(test.database.pool, (trx) =>
      captureTable(trx, test.database, { tenantid: tenant.tenantid, catalog, table }, writers),
    );
  }

  /** Runs `change` while a transaction holds on to `visit`, and the application uses both tables. @returns its longest wait */
  async function longestWait(change: () => Promise<void>): Promise<number> {
    await holder.query('begin; insert into crm.visit default values');
    let isDone = false;
    const changed = change().finally(() => (isDone = true));
    const startedAt = performance.now();
    let longest = 0;
    while (performance.now() - startedAt < LONG_MS) {
      expect(isDone, 'the change waits').to.equal(false);
      const before = performance.now();
      await app.query('insert into orders default values');
      await app.query('insert into visit default values');
      await app.query('select count(*) from orders, visit');
      longest = Math.max(longest, performance.now() - before);
    }
    await holder.query('commit');
    await changed;
    return longest;
  }

  for (const [what, change] of [
    ['captured', () => capture('visit', 'all')],
    ['no longer captured', () => capture('visit', 'api')],
    ['released', () => inTransaction(test.database.pool, (tx) => deleteTenant(tx, tenant.tenantid))],
  ] as const) {
    it(`can be used while one waits to be ${what}`, async () => {
      if (what === 'released') for (const table of ['orders', 'visit']) await capture(table, 'all');
      expect(await longestWait(change)).to.be.below(MAX_WAIT_MS);
    });
  }

  it('can be changed while their schema can not be adopted, because one is being changed', async () => {
    await app.query('create schema shop; create table shop.bill (id int); create table shop.item (id int)');
    const adopt = (): Promise<AdoptedTenant> =>
      adoptTenant(test.database.pool, {
        name: 'shop',
        schema: 'shop',
        rootLogin: 'root',
        rootPassword: 'correct horse',
      });
    await holder.query('begin; alter table shop.item add column word text');
    const state = { isDone: false };
    const refused = adopt()
      .catch((error: unknown) => error)
      .finally(() => (state.isDone = true));
    let longest = 0;
    while (!state.isDone) {
      const before = performance.now();
      await app.query('begin; alter table shop.bill add column word text; rollback');
      longest = Math.max(longest, performance.now() - before);
      await delay(10); // Otherwise our own locks would keep the grants waiting.
    }
    await holder.query('commit');
    expect(await refused).to.have.property('code', 'TRANSACTION_CONFLICT');
    expect(longest).to.be.below(MAX_WAIT_MS);
    expect((await adopt()).left).to.deep.equal([]);
  });

  it('are left alone if a transaction does not end', async () => {
    await app.query(
      'drop schema crm cascade; create schema crm; create table crm.visit (id serial primary key)',
    );
    tenant = await adoptTenant(test.database.pool, {
      name: 'again',
      schema: 'crm',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await holder.query('begin; insert into crm.visit default values');
    const error: unknown = await capture('visit', 'all').catch((caught: unknown) => caught);
    await holder.query('rollback');
    expect(error).to.have.property('code', 'TRANSACTION_CONFLICT');
  });
});
