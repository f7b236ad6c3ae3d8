import type { Ledger } from '../connection/ledger.js';

/** Every batch below this id is done. */
export async function readLowWaterMark(ledger: Ledger): Promise<string> {
  const rows = await ledger.query<{ batchid: string }>(READ, []);
  return rows[0]?.batchid ?? '0';
}

const READ = {
  name: 'batch_mark_read',
  text: `select coalesce(max(m.batchid), 0)::text as batchid from rowpost.relay_batch_mark m`,
};

/** Persists the low-water mark for relays that start later. */
export async function writeLowWaterMark(ledger: Ledger, batchid: string): Promise<void> {
  await ledger.query(WRITE, [batchid]);
}

const WRITE = {
  name: 'batch_mark_write',
  text: `insert into rowpost.relay_batch_mark (batchid) values ($1::bigint)`,
};
