import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { createTestTenant } from '../support/createTestTenant.js';
import { ServerGuard } from '../../src/db/isolation/serverGuard.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

const FLOOD = `do $$ begin loop perform pg_notify('x', clock_timestamp()::text); commit; end loop; end $$`;
const POLLS = 20;

/** Transactions that notify wait for one another as they commit. The relay took that for a wait for the database, and ended those of any tenant. */
describe("attack: a tenant floods PostgreSQL with notifications, so that the relay ends others' sessions", () => {
  let shop: Shop;
  let guard: ServerGuard;
  before(async () => {
    shop = await openShop(`create table notes (id int primary key);
      create function tell() returns trigger language plpgsql as $$ begin perform pg_notify('c', ''); return new; end $$;
      create trigger tell after insert on notes for each row execute function tell()`);
    const { createClient, tenants } = shop.test.database;
    guard = new ServerGuard(createClient, () => tenants.names());
    await guard.endHoldingSessions();
  });
  after(async () => {
    await guard.close();
    await shop.close();
  });

  it('writes with a trigger that notifies are committed', async () => {
    const { database } = shop.test;
    const named = { name: 'attacker', rootLogin: 'root', rootPassword: 'correct horse' };
    const { tenantid } = await createTestTenant(database.pool, named);
    await runTenantSql(database, { tenantid, sql: 'create function f() returns int return 1' });
    const attackers = await Promise.all(
      Array.from({ length: 8 }, () => database.tenants.connectDirectly(tenantid)),
    );
    const floods = attackers.map((attacker) =>
      attacker
        .on('error', () => undefined)
        .query(FLOOD)
        .catch(() => undefined),
    );
    let isOver = false;
    let id = 0;
    const write = async (): Promise<void> => {
      while (!isOver) await shop.data(`mutation { create_notes(input: {id: ${id++}}) { id } }`);
    };
    const writes = Promise.allSettled([write(), write()]);
    const ended: unknown[] = [];
    for (let poll = 0; poll < POLLS; poll++) {
      await delay(100);
      ended.push(...(await guard.endHoldingSessions()));
    }
    isOver = true;
    const outcomes = await writes;
    await database.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'do $$ begin loop%'",
    );
    await Promise.all(floods);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled']);
    expect(ended).to.deep.equal([]);
  });
});
