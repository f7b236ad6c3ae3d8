import { RELAY_LOCK } from './batchEventsSql.js';
import type { BatchKey } from './batches.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { statement } from '../sql/sql.js';

/** Workers or sessions that a batch of several events may end before it is split into single events. */
const MAX_BATCH_STARTS = 2;
/** Workers or sessions that a single event may end before it is given up. */
const MAX_EVENT_STARTS = 5;

/**
 * What to do with a batch whose evaluation ended with its worker, or with its session of the database: retry it; split it into one batch per event, so that a poison event
 * can't take the others with it; or give it up.
 */
export type BatchFate = 'try' | 'split' | 'give-up';

/** Counts an evaluation that was lost, and splits the batch if due. */
export async function countLostEvaluation(ledger: Ledger, key: BatchKey, events: number): Promise<BatchFate> {
  const rows = await ledger.query<{ starts: number }>(COUNT, [key.batchid, key.createtime]);
  const starts = rows[0]?.starts ?? 0;
  if (events <= 1) return starts >= MAX_EVENT_STARTS ? 'give-up' : 'try';
  if (starts < MAX_BATCH_STARTS) return 'try';
  await ledger.transaction([
    [RELAY_LOCK, []],
    [SPLIT, [key.batchid, key.createtime]],
  ]);
  return 'split';
}

// The statement doesn't see the row it inserts.
const COUNT = {
  name: 'batch_repeated_start',
  text: statement`
    with start as (
      insert into rowpost.relay_batch_start (batchid, createtime) values ($1::bigint, $2::timestamptz)
    )
    select count(*)::int + 1 as starts from rowpost.relay_batch_start
    where batchid = $1::bigint and createtime = $2::timestamptz`,
};

/** `openBatches` finds the new batches. */
const SPLIT = {
  name: 'batch_split',
  text: statement`
    with done as (
      insert into rowpost.relay_batch_done (batchid, createtime) values ($1::bigint, $2::timestamptz)
      on conflict do nothing
      returning batchid
    )
    insert into rowpost.relay_batch (tenantid, eventids, mintime, maxtime)
    select b.tenantid, array[eventid], b.mintime, b.maxtime
    from rowpost.relay_batch b cross join unnest(b.eventids) as eventid
    where b.batchid = $1::bigint and b.createtime = $2::timestamptz and exists (select from done)`,
};
