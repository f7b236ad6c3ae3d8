import type { Pool } from 'pg';

/** A counter: a 32-byte hash, and how long it is kept after its first increment. */
export interface Counted {
  readonly key: Buffer;
  readonly windowSeconds: number;
}

export interface Count {
  readonly count: number;
  readonly msLeft: number;
}

/** Maximum rows, about 100 MB. Beyond it, those that expire first are deleted. */
const MAX_COUNTS = 500_000;

/**
 * Increments the counter of each key.
 * @returns the counts in the order of the keys
 */
export async function countSignIns(pool: Pool, counted: readonly Counted[]): Promise<readonly Count[]> {
  const { rows } = await pool.query<Count & { key: Buffer }>(
    // Locks rows in key order, so that two attempts with the same two keys don't deadlock.
    `insert into rowpost.sign_in_count as c (key, count, expires)
       select key, 1, now() + make_interval(secs => seconds) from unnest($1::bytea[], $2::int[]) as k(key, seconds)
         order by key
     on conflict (key) do update set
       count = case when c.expires <= now() then 1 else c.count + 1 end,
       expires = case when c.expires <= now() then excluded.expires else c.expires end
     returning key, count, extract(epoch from expires - now())::float8 * 1000 as "msLeft"`,
    [counted.map(({ key }) => key), counted.map(({ windowSeconds }) => windowSeconds)],
  );
  return counted.map(({ key }) => {
    const row = rows.find((found) => found.key.equals(key));
    if (!row) throw new Error('a sign-in was not counted');
    return row;
  });
}

/** Decrements the counter of each key: the attempt was no failure. */
export async function uncountSignIns(pool: Pool, keys: readonly Buffer[]): Promise<void> {
  await pool.query(
    `update rowpost.sign_in_count c set count = c.count - 1
     from (select key from rowpost.sign_in_count where key = any ($1::bytea[]) order by key for update) k
     where c.key = k.key and c.count > 0`,
    [keys],
  );
}

/** Deletes expired counters, and those beyond the maximum. */
export async function removeSignInCounts(pool: Pool, most = MAX_COUNTS): Promise<void> {
  await pool.query(
    `delete from rowpost.sign_in_count where expires <= now()
       or key in (select key from rowpost.sign_in_count order by expires desc offset $1)`,
    [most],
  );
}
