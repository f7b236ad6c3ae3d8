import { expect } from 'chai';
import pg from 'pg';
import { loadBatch, loadEventRecords } from '../../../src/db/outbox/batches.js';
import { closeBatch, closePlainBatch } from '../../../src/db/ledger/closeBatch.js';
import { finishAttempts } from '../../../src/db/ledger/finishAttempts.js';
import { PLANNER_OPTIONS, type Ledger, type LedgerStatement } from '../../../src/db/pool/ledgerPool.js';
import { loadDeliveries } from '../../../src/db/ledger/loadDeliveries.js';
import { makePartitions } from '../../../src/db/outbox/partitions.js';
import { startSending } from '../../../src/db/ledger/startSending.js';
import { pollOutbox } from '../../../src/db/outbox/pollOutbox.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { createRule, createTenant, NO_LIMITS, writeEvents } from '../../delivery/pipelineSetup.js';

/** A statement as it was run, with its values. */
type Run = readonly [LedgerStatement, readonly unknown[]];

/** Tables of which each day has a partition with millions of rows. */
const LARGE = /^(?:outbox|delivery|delivery_start|email_attempt|relay_batch)_(\d{8})(?:_\w+)?$/;

describe('delivery: the statements of an email’s way, planned while the tables were empty', () => {
  let db: TestDatabase;
  let ledger: Ledger;
  const runs: Run[] = [];

  before(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
    await makePartitions(ledger, Date.now(), 2);
    const recording: Ledger = {
      ...ledger,
      query: (statement, values) => {
        runs.push([statement, values]);
        return ledger.query(statement, values);
      },
    };
    const tenant = await createTenant(db.database);
    const ruleid = await createRule(db.database, tenant);
    await writeEvents(db.database, tenant, 2);
    const [batch, other] = (await pollOutbox(ledger, { batchEvents: 1, pollEvents: 100 })).batches;
    const { events } = (await loadBatch(recording, other!))!;
    const [record] = await loadEventRecords(recording, other!, [events[0]!.eventid]);
    const matches = [{ eventid: record!.eventid, ruleid }];
    expect((await closeBatch(recording, other!, matches, NO_LIMITS)).ready).to.have.length(1);
    const { ready } = (await closePlainBatch(recording, batch!, NO_LIMITS))!;
    const [delivery] = await loadDeliveries(recording, ready);
    const email = { ...delivery!, recipients: ['a@b.org'], subject: 's', carrier: 'sendgrid', email: 'AAAA' };
    expect(await startSending(recording, [email], 60_000)).to.deep.equal([true]);
    const end = { outcome: 'sent', state: 'sent', providerMessageId: 'm', httpStatus: 202 } as const;
    const none = { errorCode: null, error: null, nextAttemptMs: null };
    const finish = { ...delivery!, ...end, ...none, starts: 1, sending: true, counted: true };
    expect(await finishAttempts(recording, [finish])).to.deep.equal([true]);
  });
  after(async () => {
    await db.drop();
  });

  it('find each row of a large table by its key', async () => {
    for (const run of runs) {
      const scans = (await explain(run)).filter(({ table }) => LARGE.test(table));
      expect(scans, run[0].name).not.to.be.empty;
      for (const { table, condition } of scans)
        expect(condition, `${run[0].name}, ${table}`).to.match(/\((eventid|deliveryid|batchid) = /);
    }
  });

  it('have one index to choose from: any that begins with the same column would seem as good', async () => {
    const { rows } = await db.database.pool.query(
      `select i.indrelid::regclass::text as table, array_agg(c.relname::text) as indexes
       from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam and m.amname = 'btree'
       where c.relkind = 'I' and c.relnamespace = 'rowpost'::regnamespace and i.indpred is null
       group by i.indrelid, i.indkey[0] having count(*) > 1`,
    );
    expect(rows).to.deep.equal([]);
  });

  it('look only into the partition of its day, where they only read or add', async () => {
    const looked = new Map<string | undefined, number>();
    for (const run of runs) {
      const scans = (await explain(run)).filter(({ isExecuted }) => isExecuted);
      const days = scans.flatMap(({ table }) => LARGE.exec(table)?.[1] ?? []);
      looked.set(run[0].name, new Set(days).size);
    }
    for (const name of ['batch_load', 'batch_records', 'batch_close', 'batch_close_plain', 'delivery_load'])
      expect(looked.get(name), name).to.equal(1);
  });

  /** The plan for all values, as the ledger's connections make it, and what it did. */
  const explain = async ([{ text }, values]: Run): Promise<readonly Scan[]> => {
    const client = new pg.Client({ connectionString: db.url, options: PLANNER_OPTIONS });
    await client.connect();
    try {
      const texts: string[] = [];
      for (const value of values) {
        // pg writes an array as PostgreSQL reads it.
        const { rows } = await client.query<{ text: string | null }>('select $1::text as text', [value]);
        texts.push(rows[0]!.text === null ? 'null' : client.escapeLiteral(rows[0]!.text));
      }
      await client.query(`prepare explained as ${text}`);
      await client.query('begin');
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) execute explained(${texts.join(', ')})`,
      );
      return scansOf(rows[0]!['QUERY PLAN'][0].Plan);
    } finally {
      await client.end();
    }
  };
});

interface Scan {
  readonly table: string;
  readonly condition: string;
  /** Not pruned while it ran. */
  readonly isExecuted: boolean;
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
}

/** Every read of a table or an index. A bitmap's table is read by the index below it. */
function scansOf(node: PlanNode): readonly Scan[] {
  const below = (node.Plans ?? []).flatMap(scansOf);
  const isScan = / Scan$/.test(node['Node Type']) && node['Node Type'] !== 'Bitmap Heap Scan';
  const table = node['Relation Name'] ?? node['Index Name'];
  if (!isScan || table === undefined) return below;
  return [{ table, condition: node['Index Cond'] ?? '', isExecuted: node['Actual Loops'] > 0 }, ...below];
}
