import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { writeArchive } from '../../src/control/tenants/tablesArchive.js';
import { openShop, type Shop } from '../graphql/support/shop.js';
import { waitFor } from '../support/waitFor.js';

/** Whoever can log in as a tenant can create code at any time, which shared connections would run before anybody looks. */
describe('attack: a tenant without code logs in by a password of its own', () => {
  let shop: Shop;
  let role: string;
  before(async () => {
    shop = await openShop('create table notes (id int primary key)');
    role = (await shop.test.database.tenants.names()).tenant(shop.tenant.tenantid);
  });
  after(() => shop.close());

  const logIn = async (): Promise<pg.Client> => {
    const url = new URL(shop.test.url);
    [url.username, url.password] = [role, 'known'];
    const client = new pg.Client({ connectionString: url.href });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const settled = async (): Promise<unknown> => {
    const { database } = shop.test;
    const { tenantid, schema } = shop.tenant;
    await database.tenants.settle(tenantid, schema);
    return database.tenants.loginOf(tenantid);
  };
  /** PostgreSQL may show an ended session for longer than one check waits. */
  const becomesShared = (): Promise<boolean> =>
    waitFor('shared connections', async () => (await settled()) === 'shared');
  const failure = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'none',
      (error: unknown) => (error as Error).message,
    );

  it('is refused while shared connections serve the tenant', async () => {
    await shop.sql(`alter role current_user password 'known'`);
    await becomesShared();
    expect(await failure(logIn())).to.match(/not permitted to log in|password authentication failed/);
    await shop.data('{ notes { id } }');
  });

  it('loses its open sessions before shared connections serve the tenant', async () => {
    await shop.sql(`alter role current_user password 'known'`);
    const session = await logIn();
    await becomesShared();
    expect(
      await failure(session.query(`create function ${shop.tenant.schema}.f() returns int return 1`)),
    ).to.not.equal('none');
    await shop.data('mutation { create_notes(input: {id: 1}) { id } }');
  });

  it('keeps the tenant on dedicated connections by an open transaction', async () => {
    await shop.sql(`alter role current_user password 'known'`);
    const session = await logIn();
    await session.query('begin');
    expect(await settled()).to.equal(shop.tenant.tenantid);
    await shop.data('{ notes { id } }');
    await session.end();
    await becomesShared();
  });

  it('is not let in again by a process that does not know yet who serves the tenant', async () => {
    const { tenants } = shop.test.database;
    const { tenantid } = shop.tenant;
    await shop.sql(`alter role current_user password 'known'`);
    await settled();
    tenants.refused(tenantid);
    await shop.data('{ notes { id } }');
    expect(tenants.loginOf(tenantid)).to.equal('shared');
    expect(await failure(logIn())).to.match(/not permitted to log in|password authentication failed/);
  });

  it('is not let in by an export', async () => {
    await shop.sql(`alter role current_user password 'known'`);
    await becomesShared();
    const { database, url } = shop.test;
    const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-test-'));
    try {
      // It fails where pg_dump is older than the server, having logged in.
      await failure(writeArchive({ database, url }, shop.tenant, path.join(folder, 'tables.dump')));
    } finally {
      await rm(folder, { recursive: true });
    }
    const { rows } = await database.pool.query<{ may: boolean }>(
      'select rolcanlogin as may from pg_roles where rolname = $1',
      [role],
    );
    expect(rows).to.deep.equal([{ may: false }]);
    expect(database.tenants.loginOf(shop.tenant.tenantid)).to.equal('shared');
  });

  it('loses no request', async () => {
    await shop.sql('create function code() returns int return 1');
    expect(await settled()).to.equal(shop.tenant.tenantid);
    await Promise.all(Array.from({ length: 8 }, () => shop.data('{ notes { id } }')));
    await shop.sql('drop function code');
    const asked = Array.from({ length: 200 }, () => shop.data('{ notes { id } }'));
    await settled();
    await Promise.all(asked);
  });
});
