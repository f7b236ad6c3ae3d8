import { setTimeout as delay } from 'node:timers/promises';
import type { Rig } from './rig.js';

const ASK_MS = 500;

/**
 * Waits until every committed order is in the ledger and finished. A timeout is not an error here: the invariants
 * then name what is open.
 */
export async function settle({ ledger, shops }: Rig, timeoutMs: number): Promise<void> {
  const until = Date.now() + timeoutMs;
  while (Date.now() < until) {
    const unrecorded = await Promise.all(shops.map((shop) => ledger.countUnrecorded(shop)));
    if (unrecorded.every((count) => count === 0) && (await ledger.countOpen()) === 0) return;
    await delay(ASK_MS);
  }
}
