import { expect } from 'chai';
import { readBacklog } from '../../../src/db/outbox/backlog.js';
import type { Ledger } from '../../../src/db/pool/ledgerPool.js';
import type { Batch } from '../../../src/db/outbox/batches.js';
import { pollOutbox } from '../../../src/db/outbox/pollOutbox.js';
import type { Queue } from '../../../src/queue/queue.js';
import { Admission } from '../../../src/relay/admission.js';
import { reconcileBatches } from '../../../src/relay/reconcile.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { createRule, createTenant, writeEvents, type TestTenant } from '../../delivery/pipelineSetup.js';

type BatchQueue = Pick<Queue, 'addBatches'>;

describe('delivery: where a relay begins to look for open batches', () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let tenant: TestTenant;

  beforeEach(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
    tenant = await createTenant(db.database);
    await createRule(db.database, tenant, {});
  });
  afterEach(async () => {
    await db.drop();
  });

  it('is the oldest batch that was not done when another relay looked', async () => {
    const batches = await batchesOf(5);
    await markDone([batches[0]!, batches[1]!, batches[3]!]);
    const offered = await look(startReconciler());
    expect(offered).to.deep.equal([batches[2]!.batchid, batches[4]!.batchid]);
    const { rows } = await db.database.pool.query<{ batchid: string }>(
      'select batchid::text as batchid from rowpost.relay_batch_mark order by markid desc limit 1',
    );
    expect(rows[0]?.batchid).to.equal(batches[2]!.batchid);
    expect(await look(startReconciler()), 'a relay that starts now').to.deep.equal(offered);
  });

  it('does not pass over a young batch, though those behind it are done', async () => {
    const [young, ...others] = await batchesOf(3);
    await markDone(others);
    await setAge([young!], '0 seconds');
    const reconciler = startReconciler();
    expect(await look(reconciler)).to.deep.equal([]);
    await setAge([young!], '10 seconds');
    expect(await look(reconciler)).to.deep.equal([young!.batchid]);
  });

  it('goes back with the database, in a relay that knew a later state', async () => {
    const kept = await batchesOf(2);
    await markDone(kept);
    const reconciler = startReconciler();
    await look(reconciler);
    const restore = await backUp();
    await markDone(await batchesOf(20));
    expect(await look(reconciler)).to.deep.equal([]);

    await restore();
    const next = await batchesOf(3);
    expect(Number(next[0]!.batchid), 'ids are given out again').to.equal(Number(kept[1]!.batchid) + 1);
    expect(await look(reconciler)).to.deep.equal(next.map(({ batchid }) => batchid));
    expect(await look(startReconciler())).to.deep.equal(next.map(({ batchid }) => batchid));
  });

  it('is not a mark above all batches, which another relay has carried over from before a restore', async () => {
    await db.database.pool.query('insert into rowpost.relay_batch_mark (batchid) values (659)');
    const batches = await batchesOf(3);
    expect(await look(startReconciler())).to.deep.equal(batches.map(({ batchid }) => batchid));
    expect(await readBacklog(db.database.ledger)).to.include({ openBatches: 3 });
  });

  /** Batches of one event each, ten seconds old. */
  async function batchesOf(events: number): Promise<readonly Batch[]> {
    await writeEvents(db.database, tenant, events);
    const { batches } = await pollOutbox(ledger, { batchEvents: 1, pollEvents: 100 });
    return setAge(batches, '10 seconds');
  }

  async function setAge(batches: readonly Batch[], age: string): Promise<readonly Batch[]> {
    await db.database.pool.query(
      `update rowpost.relay_batch set createtime = now() - $2::interval where batchid = any ($1::bigint[])`,
      [batches.map(({ batchid }) => batchid), age],
    );
    return batches;
  }

  async function markDone(batches: readonly Batch[]): Promise<void> {
    await db.database.pool.query(
      `insert into rowpost.relay_batch_done (batchid, createtime)
       select batchid, createtime from rowpost.relay_batch where batchid = any ($1::bigint[])`,
      [batches.map(({ batchid }) => batchid)],
    );
  }

  /** @returns what puts the relay's tables and sequences back to what they are now */
  async function backUp(): Promise<() => Promise<void>> {
    const { pool } = db.database;
    const tables = ['outbox', 'relay_batch', 'relay_batch_done', 'relay_batch_mark', 'relay_poll'];
    for (const table of tables)
      await pool.query(`create table public.backup_${table} as table rowpost.${table}`);
    const { rows } = await pool.query<{ name: string; value: string | null }>(
      `select format('rowpost.%I', sequencename) as name, last_value::text as value from pg_sequences where schemaname = 'rowpost'`,
    );
    return async () => {
      for (const table of tables) {
        await pool.query(`delete from rowpost.${table}`);
        await pool.query(
          `insert into rowpost.${table} overriding system value select * from public.backup_${table}`,
        );
      }
      for (const { name, value } of rows) {
        await pool.query('select setval($1, $2, $3)', [name, value ?? 1, value !== null]);
      }
    };
  }

  function startReconciler(): (queue: BatchQueue) => Promise<void> {
    const admission = new Admission();
    return (queue) => reconcileBatches(ledger, queue, admission);
  }

  /** One look. @returns the batches that were given to the queue */
  async function look(reconcile: (queue: BatchQueue) => Promise<void>): Promise<readonly string[]> {
    const offered: string[] = [];
    const addBatches: Queue['addBatches'] = (jobs) => {
      offered.push(...jobs.map((job) => job.batchid));
      return Promise.resolve();
    };
    await reconcile({ addBatches });
    return offered;
  }
});
