import { expect } from 'chai';
import type { MovingTenant } from '../../../../../src/db/cells/moving/handOver.js';
import { endHold, withWritesHeld } from '../../../../../src/db/cells/moving/writeHold.js';
import { PrincipalSource } from '../../../../../src/db/roles/principal.js';
import { openShop, type Shop } from '../../../../graphql/support/shop.js';
import { waitFor } from '../../../../support/waitFor.js';

describe('writes of a tenant that are held', () => {
  let shop: Shop;
  let here: MovingTenant;
  before(async () => {
    shop = await openShop(
      `
      create table notes (id int primary key);
      create table parts (id int, primary key (id)) partition by range (id);
      create table low partition of parts default;
      insert into notes values (0)`,
      {
        DIRECTORY_URL: 'postgres://directory.example/directory',
        CELL: 'here',
        CELL_URL: 'http://here.example',
      },
    );
    const { tenantid, schema } = shop.tenant;
    here = { tenantid, schema, role: (await shop.test.database.tenants.names()).tenant(tenantid) };
  });
  after(() => shop.close());

  const create = async (id: number): Promise<string | undefined> => {
    const principal = await new PrincipalSource(shop.test.database.pool).load(
      here.tenantid,
      shop.root.roleid,
    );
    const reply = await shop.ask(`mutation { create_notes(input: {id: ${id}}) { id } }`, {}, principal);
    return reply.errors?.[0]?.extensions.code;
  };
  const ids = async (): Promise<readonly number[]> => {
    const { rows } = await shop.test.database.pool.query<{ id: number }>(
      `select id from ${here.schema}.notes union select id from ${here.schema}.parts order by 1`,
    );
    return rows.map(({ id }) => id);
  };
  /** By SQL, in a session of its own. */
  const insert = (table: string, id: number): Promise<unknown> =>
    shop.test.database.pool.query(`insert into ${here.schema}.${table} values ($1)`, [id]);

  it('are refused by the API, wait in PostgreSQL, and are done when the hold ends; reads go on', async () => {
    let late: Promise<unknown> = Promise.resolve();
    await withWritesHeld(shop.test.database.pool, here, async () => {
      late = Promise.all([insert('notes', 1), insert('parts', 2), insert('low', 3)]);
      expect(await create(4)).to.equal('TENANT_MOVING');
      expect(await shop.data('{ notes { id } }')).to.deep.equal({ notes: [{ id: '0' }] });
      const locked = `select from ${here.schema}.notes for update`;
      expect((await shop.test.database.pool.query(locked)).rowCount).to.equal(1);
      await shop.test.database.pool.query('select pg_sleep(0.5)');
      expect(await ids()).to.deep.equal([0]);
    });
    await late;
    expect(await create(4)).to.equal(undefined);
    expect(await ids()).to.deep.equal([0, 1, 2, 3, 4]);
  });

  it('are refused as well if they had begun to wait, by a process that did not know', async () => {
    await withWritesHeld(shop.test.database.pool, here, async () => {
      const reply = await shop.ask('mutation { create_notes(input: {id: 20}) { id } }');
      expect(reply.errors?.[0]?.extensions.code).to.equal('TENANT_MOVING');
    });
  });

  it('go on without anybody’s help when the session of the command breaks', async () => {
    const { pool } = shop.test.database;
    const broken = await withWritesHeld(pool, here, async (client) => {
      expect(await create(5)).to.equal('TENANT_MOVING');
      await pool.query(
        'select pg_terminate_backend(pid) from rowpost.write_hold where pid <> pg_backend_pid()',
      );
      await client.query('select');
    }).catch((error: unknown) => error);
    expect(broken).to.be.an('error');
    expect(await create(5)).to.equal(undefined);
    await insert('parts', 6);
  });

  it('go on when another command ends the hold of one that still runs', async () => {
    const { pool } = shop.test.database;
    const ended = await withWritesHeld(pool, here, async (client) => {
      await endHold(pool, here.tenantid);
      expect(await create(7)).to.equal(undefined);
      await client.query('select');
    }).catch((error: unknown) => error);
    expect(ended).to.be.an('error');
    await endHold(pool, here.tenantid);
  });

  it('were committed before the hold, or wait: a writer that is at work is waited for', async () => {
    const { pool } = shop.test.database;
    const writer = await pool.connect();
    await writer.query(`begin; insert into ${here.schema}.notes values (8)`);
    let isHeld = false;
    const holding = withWritesHeld(pool, here, async () => {
      isHeld = true;
      expect(await ids()).to.include(8);
    });
    await waitFor('the hold to be tried', async () => (await create(9)) === 'TENANT_MOVING');
    await pool.query('select pg_sleep(1.5)');
    expect(isHeld).to.equal(false);
    await writer.query('commit');
    writer.release();
    await holding;
    expect(isHeld).to.equal(true);
  });
});
