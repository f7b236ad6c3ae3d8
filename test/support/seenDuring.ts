import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../src/db/pool/database.js';

/** How often PostgreSQL is asked: seldom enough to take nothing from what is watched. */
const INTERVAL_MS = 20;

/**
 * Watches PostgreSQL while something runs, so that a test tells what waited for what, whatever time that took.
 * @param sql selects texts as `seen`
 * @returns all that it ever selected
 */
export async function seenDuring(
  { ledgerPool }: Pick<Database, 'ledgerPool'>,
  sql: string,
  work: () => Promise<unknown>,
): Promise<ReadonlySet<string>> {
  const all = new Set<string>();
  const state = { isOver: false };
  const watching = (async () => {
    while (!state.isOver) {
      const { rows } = await ledgerPool.query<{ seen: string }>(sql);
      for (const { seen } of rows) all.add(seen);
      await delay(INTERVAL_MS);
    }
  })();
  try {
    await work();
  } finally {
    state.isOver = true;
    await watching;
  }
  return all;
}
