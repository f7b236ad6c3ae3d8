import { expect } from 'chai';
import pg from 'pg';
import { ConnectionPool, type Lease, type Login } from '../../../src/db/pool/connectionPool.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

describe('the connection pool for all logins', () => {
  let test: TestDatabase;
  before(async () => (test = await createTestDatabase()));
  after(() => test.drop());

  let opened: Login[];
  function openPool(options: {
    max: number;
    maxPerTenant?: number;
    maxPerLogin?: number;
    maxOwn?: number;
    maxTenantsServed?: number;
  }): ConnectionPool {
    opened = [];
    return new ConnectionPool({
      maxPerTenant: options.max,
      maxPerLogin: options.max,
      maxOwn: options.max,
      maxTenantsServed: 1_000,
      ...options,
      acquireTimeoutMs: 200,
      idleTimeoutMs: 10_000,
      // Who logs in makes no difference here.
      connect: async (login) => {
        opened.push(login);
        const client = new pg.Client({ connectionString: test.url });
        await client.connect();
        return client;
      },
      onIdleError: () => undefined,
    });
  }

  async function refused(acquiring: Promise<Lease>): Promise<boolean> {
    return acquiring.then(
      () => false,
      () => true,
    );
  }

  it('reuses an idle connection of the same login, preferably of the same tenant', async () => {
    const pool = openPool({ max: 3 });
    const [one, other] = [await pool.acquire('shared', 1), await pool.acquire('shared', 2)];
    [one.servedTenant, other.servedTenant] = [1, 2];
    one.release(false);
    other.release(false);
    const again = await pool.acquire('shared', 1);
    expect(again.client).to.equal(one.client);
    again.release(false);
    expect(opened).to.deep.equal(['shared', 'shared']);
    await pool.close();
  });

  it('closes a connection that has served many tenants, whose catalogs fill its memory', async () => {
    const pool = openPool({ max: 1, maxTenantsServed: 3 });
    const clients = new Set<unknown>();
    for (const tenantid of [1, 2, 1, 2, 1, 3, 4, 4, 5, 6]) {
      const lease = await pool.acquire('shared', tenantid);
      lease.servedTenant = tenantid;
      clients.add(lease.client);
      lease.release(false);
    }
    // 1, 2 and 3; then 4, 5 and 6.
    expect(clients.size).to.equal(2);
    expect(opened).to.have.length(2);
    await pool.close();
  });

  it('closes the least recently used idle connection of another login when the budget is used up', async () => {
    const pool = openPool({ max: 2 });
    const [first, second] = [await pool.acquire(7), await pool.acquire('shared')];
    first.release(false);
    second.release(false);
    const third = await pool.acquire(8);
    const fourth = await pool.acquire('shared');
    expect(fourth.client).to.equal(second.client);
    expect(opened).to.deep.equal([7, 'shared', 8]);
    third.release(false);
    fourth.release(false);
    await pool.close();
  });

  it('lets neither one login nor all of them take every connection', async () => {
    const pool = openPool({ max: 4, maxPerLogin: 2, maxOwn: 3 });
    const own = [await pool.acquire(7), await pool.acquire(7), await pool.acquire(8)];
    expect(await refused(pool.acquire(7))).to.equal(true);
    expect(await refused(pool.acquire(9))).to.equal(true);
    const shared = await pool.acquire('shared');
    expect(await refused(pool.acquire('shared'))).to.equal(true);
    for (const lease of [...own, shared]) lease.release(false);
    await pool.close();
  });

  it('lets a tenant wait that uses its share, also of shared connections, and serves others meanwhile', async () => {
    const pool = openPool({ max: 4, maxPerTenant: 2 });
    const held = [await pool.acquire('shared', 7), await pool.acquire('shared', 7)];
    const waiting = refused(pool.acquire('shared', 7));
    const others = [await pool.acquire('shared', 8), await pool.acquire('shared', 9)];
    others[0]!.release(false);
    const refusal = await pool.acquire('shared', 7).catch((error: unknown) => error);
    expect(refusal).to.include({ code: 'TOO_BUSY' });
    expect(await waiting).to.equal(true);
    const next = pool.acquire('shared', 7);
    held[0]!.release(false);
    expect((await next).client).to.equal(held[0]!.client);
    for (const lease of [await next, held[1]!, others[1]!]) lease.release(false);
    await pool.close();
  });

  it('hands a released connection to a waiter, and replaces a broken one', async () => {
    const pool = openPool({ max: 1 });
    const held = await pool.acquire('shared');
    const waiting = pool.acquire('shared');
    held.release(false);
    const next = await waiting;
    expect(next.client).to.equal(held.client);
    const another = pool.acquire(7);
    next.release(true);
    (await another).release(false);
    expect(opened).to.deep.equal(['shared', 7]);
    await pool.close();
  });

  it('waits for connections in use when closing', async () => {
    const pool = openPool({ max: 1 });
    const held = await pool.acquire('shared');
    let isClosed = false;
    const closing = pool.close().then(() => (isClosed = true));
    expect(await refused(pool.acquire('shared'))).to.equal(true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).to.equal(false);
    held.release(false);
    await closing;
  });
});
