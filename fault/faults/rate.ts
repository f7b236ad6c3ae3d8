import { setTimeout as delay } from 'node:timers/promises';
import type { Rig } from '../rig/rig.js';

/** Emails that the carrier accepts for the shops of the load, per second, over a while. */
export async function emailsPerSecond(rig: Rig, overMs: number): Promise<number> {
  const fromMs = Date.now();
  await delay(overMs);
  const toMs = Date.now();
  await rig.carrier.refresh();
  const steady = new Set(rig.load.shops.map(({ tenantid }) => String(tenantid)));
  const emails = rig.carrier.entries.filter(
    ({ tenantid, accepted, receivedAtMs }) =>
      accepted && steady.has(tenantid) && receivedAtMs >= fromMs && receivedAtMs < toMs,
  );
  return (emails.length * 1000) / (toMs - fromMs);
}
