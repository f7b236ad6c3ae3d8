import { expect } from 'chai';
import { loadBatch } from '../../../../../src/db/outbox/batches.js';
import { closeBatch, closePlainBatch } from '../../../../../src/db/ledger/closeBatch.js';
import { finishAttempts } from '../../../../../src/db/ledger/finishAttempts.js';
import { loadDeliveries } from '../../../../../src/db/ledger/loadDeliveries.js';
import { startSending } from '../../../../../src/db/ledger/startSending.js';
import { pollOutbox } from '../../../../../src/db/outbox/pollOutbox.js';
import {
  endOfEarlierTransactions,
  fenceTenant,
  structureOf,
  unfenceTenant,
  type MovingTenant,
} from '../../../../../src/db/cells/moving/handOver.js';
import { leaveCell } from '../../../../../src/db/cells/moving/leaveCell.js';
import { withWritesHeld } from '../../../../../src/db/cells/moving/writeHold.js';
import { PrincipalSource } from '../../../../../src/db/roles/principal.js';
import { createRule, createTenant, NO_LIMITS, writeEvents } from '../../../../delivery/pipelineSetup.js';
import { openShop, type Shop } from '../../../../graphql/support/shop.js';
import { waitFor } from '../../../../support/waitFor.js';

const CREATE = 'mutation { create_notes(input: {id: 2}) { id } }';
const CELL = {
  DIRECTORY_URL: 'postgres://directory.example/directory',
  CELL: 'here',
  CELL_URL: 'http://here.example',
};
const READ = '{ notes { id } }';

describe('a tenant that is handed over to another cell', () => {
  let shop: Shop;
  let moving: MovingTenant;
  before(async () => {
    shop = await openShop('create table notes (id int primary key); insert into notes values (1)', CELL);
    const { tenantid, schema } = shop.tenant;
    moving = { tenantid, schema, role: (await shop.test.database.tenants.names()).tenant(tenantid) };
    await shop.test.database.pool.query(
      `insert into rowpost.cell (name, base_url, id_range, own)
       values ('here', 'http://here.example', 0, true), ('there', 'http://there.example', 1, false)`,
    );
  });
  after(() => shop.close());

  const fence = async (move: number, structure?: string): Promise<void> => {
    const { pool } = shop.test.database;
    const expected = structure ?? (await structureOf(pool, moving));
    await withWritesHeld(pool, moving, (hold) =>
      fenceTenant(hold, pool, moving, { move, movedTo: 'there', structure: expected }),
    );
    await endOfEarlierTransactions(pool);
  };
  const codeOf = async (query: string): Promise<string | undefined> =>
    (await shop.ask(query)).errors?.[0]?.extensions.code;
  const rows = async (): Promise<number | null> =>
    (await shop.test.database.pool.query(`select from ${moving.schema}.notes`)).rowCount;

  it('is neither read nor written by a process that does not know it yet, and served again when the move is aborted', async () => {
    expect(await codeOf(READ)).to.equal(undefined);
    await fence(1);
    expect([await codeOf(READ), await codeOf(CREATE)]).to.deep.equal(['TENANT_MOVING', 'TENANT_MOVING']);
    // Which gives the tenant what its role lacks, at other times.
    await shop.engine.introspect(moving.tenantid, moving.schema);
    expect([await codeOf(READ), await codeOf(CREATE)]).to.deep.equal(['TENANT_MOVING', 'TENANT_MOVING']);
    expect(await rows()).to.equal(1);
    await unfenceTenant(shop.test.database.pool, moving, 1);
    expect([await codeOf(READ), await codeOf(CREATE)]).to.deep.equal([undefined, undefined]);
    expect(await rows()).to.equal(2);
  });

  it('is not fenced by a command that was overtaken', async () => {
    await unfenceTenant(shop.test.database.pool, moving, 5);
    const late = await fence(5).catch((error: unknown) => error);
    expect(late).to.have.property('message').that.contains('moved again');
    expect(await codeOf(READ)).to.equal(undefined);
  });

  it('is not fenced when its tables have another structure than was copied', async () => {
    const { pool } = shop.test.database;
    const structure = await structureOf(pool, moving);
    await shop.sql('alter table notes add column more text');
    const refused = await fence(6, structure).catch((error: unknown) => error);
    expect(refused).to.have.property('message').that.contains('structure');
    expect(await codeOf(READ)).to.equal(undefined);
  });

  it('is fenced after the last writer', async () => {
    const client = await shop.test.database.pool.connect();
    await client.query(`begin; insert into ${moving.schema}.notes (id) values (3)`);
    let isFenced = false;
    const fencing = fence(7).then(() => (isFenced = true));
    await shop.test.database.pool.query('select pg_sleep(1.5)');
    expect(isFenced).to.equal(false);
    await client.query('commit');
    client.release();
    await fencing;
    expect(await rows()).to.equal(3);
    await unfenceTenant(shop.test.database.pool, moving, 7);
  });

  it('is served when its move is undone before a process that was refused has looked where it is', async () => {
    const { pool } = shop.test.database;
    await fence(8);
    const client = await pool.connect();
    await client.query('begin; lock table rowpost.cell_tenant');
    const asked = codeOf('mutation { create_notes(input: {id: 4}) { id } }');
    await waitFor('the process to look where the tenant is', async () => {
      const { rowCount } = await pool.query(
        `select from pg_locks where relation = 'rowpost.cell_tenant'::regclass and not granted`,
      );
      return rowCount === 1;
    });
    await unfenceTenant(pool, moving, 8);
    await client.query('commit');
    client.release();
    expect(await asked).to.equal(undefined);
    expect(await rows()).to.equal(4);
  });

  it('runs no script that waited for its move, as the target would not have what the script does', async () => {
    const { database } = shop.test;
    let script: Promise<string> = Promise.resolve('');
    await database.tenants.changeSchema(moving.tenantid, async () => {
      script = shop.sql('create table late (id int)').then(
        () => 'run',
        (error: unknown) => (error as { code: string }).code,
      );
      await waitFor('the script to wait', async () => {
        const { rowCount } = await database.pool.query(
          `select from pg_locks l join pg_stat_activity a using (pid)
           where not l.granted and a.datname = current_database() and a.query like '%tenant_access%'`,
        );
        return (rowCount ?? 0) > 0;
      });
      await fence(20);
    });
    expect(await script).to.equal('TENANT_MOVING');
    await unfenceTenant(database.pool, moving, 20);
  });

  it('is told to ask the cell that the directory names, also where it never was', async () => {
    const { pool } = shop.test.database;
    await fence(21);
    await pool.query(`insert into rowpost.cell_tenant values ($1, 'there')`, [moving.tenantid]);
    const reply = await shop.ask(READ);
    expect(reply.status).to.equal(421);
    expect(reply.errors?.[0]?.extensions).to.include({
      code: 'TENANT_MOVED',
      base_url: 'http://there.example',
    });
    const principals = new PrincipalSource(pool);
    const codes = await Promise.all(
      [moving.tenantid, 10_000_001].map((tenantid) =>
        principals.load(tenantid, 1).then(
          () => 'loaded',
          (error: unknown) => (error as { code: string }).code,
        ),
      ),
    );
    expect(codes).to.deep.equal(['TENANT_MOVED', 'TENANT_MOVED']);
    // Of this cell's range, and unknown.
    expect(await principals.load(999, 1)).to.equal(undefined);
  });

  it('keeps no session when it leaves: in the role of the same name that comes back, it would have no rights', async () => {
    const { database } = shop.test;
    const session = await database.tenants.connectDirectly(moving.tenantid);
    session.on('error', () => undefined);
    expect(await leaveCell(database.pool, moving, 100)).to.equal(true);
    const refused = await session.query('select').catch((error: unknown) => error);
    expect(refused).to.be.an('error');
    const { rows: left } = await database.pool.query('select from pg_roles where rolname = $1', [
      moving.role,
    ]);
    expect(left).to.have.length(0);
  });
});

describe('email of a tenant that is handed over', () => {
  it('is neither evaluated, begun, nor ended without a call', async () => {
    const shop = await openShop('');
    const { database } = shop.test;
    const { ledger, pool } = database;
    const tenant = await createTenant(database);
    const ruleid = await createRule(database, tenant);
    await writeEvents(database, tenant, 2);
    const limits = { batchEvents: 1, pollEvents: 10 };
    const [one, two] = (await pollOutbox(ledger, limits)).batches;
    const { events } = (await loadBatch(ledger, one!))!;
    const { ready } = await closeBatch(ledger, one!, [{ eventid: events[0]!.eventid, ruleid }], NO_LIMITS);
    const { tenantid, deliveryid, createtime } = ready[0]!;
    const key = { tenantid, deliveryid, createtime };
    await pool.query(`update rowpost.tenant set moved_to = 'there' where tenantid = $1`, [tenant.tenantid]);

    expect(await closePlainBatch(ledger, two!, NO_LIMITS)).to.equal(undefined);
    expect((await closeBatch(ledger, two!, [], NO_LIMITS)).ready).to.deep.equal([]);
    expect((await pool.query('select from rowpost.relay_batch_done')).rowCount).to.equal(1);
    expect(await loadDeliveries(ledger, [key])).to.deep.equal([undefined]);
    for (const tracked of [false, true]) {
      const start = { ...key, starts: 0, tracked, recipients: ['a@b.org'], subject: 's' };
      expect(
        await startSending(ledger, [{ ...start, carrier: 'sendgrid', email: null }], 60_000),
      ).to.deep.equal([false]);
    }
    const failed = {
      ...key,
      sending: false,
      starts: 0,
      outcome: 'failed',
      httpStatus: null,
      state: 'failed',
      counted: true,
      providerMessageId: null,
      errorCode: 'QUERY',
      error: null,
      nextAttemptMs: null,
    } as const;
    expect(await finishAttempts(ledger, [failed])).to.deep.equal([false]);
    await pool.query('update rowpost.tenant set moved_to = null where tenantid = $1', [tenant.tenantid]);
    expect(await finishAttempts(ledger, [failed])).to.deep.equal([true]);
    await shop.close();
  });
});
