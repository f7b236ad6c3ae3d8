import type { BatchKey } from './batches.js';
import type { Ledger } from '../connection/ledger.js';

/** Workers that a batch of several events may end before its events are evaluated one by one. */
const MAX_STARTS_TOGETHER = 2;
/** Workers that one event may end. */
const MAX_STARTS_ALONE = 5;

/**
 * What becomes of a batch that an earlier worker began with and left without a word: it is tried again; or each of its
 * events becomes a batch of its own, so that one of them can't take the others along; or it is given up.
 */
export type BatchFate = 'try' | 'split' | 'give-up';

/** Counts that a worker begins again with a batch, and does the splitting. */
export async function countRepeatedBatchStart(
  ledger: Ledger,
  key: BatchKey,
  events: number,
): Promise<BatchFate> {
  const rows = await ledger.query<{ starts: number }>(COUNT, [key.batchid, key.createtime]);
  const starts = rows[0]?.starts ?? 0;
  if (events <= 1) return starts >= MAX_STARTS_ALONE ? 'give-up' : 'try';
  if (starts < MAX_STARTS_TOGETHER) return 'try';
  await ledger.transaction([
    [LOCK, []],
    [SPLIT, [key.batchid, key.createtime]],
  ]);
  return 'split';
}

// The statement does not see the row that it inserts.
const COUNT = {
  name: 'batch_repeated_start',
  text: `
    with start as (
      insert into rowpost.relay_batch_start (batchid, createtime) values ($1::bigint, $2::timestamptz)
    )
    select count(*)::int + 1 as starts from rowpost.relay_batch_start
    where batchid = $1::bigint and createtime = $2::timestamptz`,
};

/** Ids of batches are given under the relay's lock: see `openBatches`, by which the relay finds these. */
const LOCK = {
  name: 'batch_split_lock',
  text: 'lock table rowpost.relay_lock in share update exclusive mode',
};

const SPLIT = {
  name: 'batch_split',
  text: `
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
