import type { Pool } from 'pg';

const CHUNK_SIZE = 10_000;

/** Deletes expired keys. Safe to run concurrently. Throws what pg throws. */
export async function pruneIdempotencyKeys(pool: Pool): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(
      `delete from rowpost.idempotency_key where ctid = any (array(
         select ctid from rowpost.idempotency_key where createtime < now() - interval '25 hours'
         limit $1 for update skip locked))`,
      [CHUNK_SIZE],
    );
    if ((rowCount ?? 0) < CHUNK_SIZE) return;
  }
}
