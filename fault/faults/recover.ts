import { setTimeout as delay } from 'node:timers/promises';
import { standingEmails } from '../analysis/standingEmails.js';
import type { Order } from '../rig/load.js';
import type { Rig } from '../rig/rig.js';

const ASK_MS = 100;
const MAX_MS = 60_000;
const SHOWN = 5;

/**
 * Waits until the confirmation of each of these orders has been accepted.
 * @returns how long that took, in milliseconds; undefined on timeout
 */
export async function untilConfirmed(rig: Rig, orders: readonly Order[]): Promise<number | undefined> {
  const startedAtMs = Date.now();
  let missing = orders.map(({ mark }) => `confirm ${mark}`);
  while (Date.now() - startedAtMs < MAX_MS) {
    await rig.carrier.refresh();
    const accepted = new Set(
      standingEmails(rig.carrier.entries, rig.timeMachine.lostTimes).map(({ subject }) => subject),
    );
    missing = missing.filter((subject) => !accepted.has(subject));
    if (missing.length === 0) return Date.now() - startedAtMs;
    await delay(ASK_MS);
  }
  const stuck = orders.filter(({ mark }) => missing.includes(`confirm ${mark}`));
  const described = await Promise.all(
    stuck.slice(0, SHOWN).map(async ({ mark, shop, orderId }) => {
      const deliveries = await rig.ledger.describeOrder(shop, orderId).catch(String);
      const emails = rig.carrier.entries
        .filter(({ subject }) => subject === `confirm ${mark}`)
        .map(
          ({ receivedAtMs, accepted: isAccepted }) =>
            `${isAccepted ? 'accepted' : 'refused'} at ${new Date(receivedAtMs).toISOString()}`,
        );
      return `${mark}: ${deliveries.length === 0 ? 'no delivery' : String(deliveries)}; ${emails.join(', ') || 'no email'}`;
    }),
  );
  rig.complaints.push(
    `not sent ${MAX_MS / 1000} s after the fault was over: ${stuck.length} orders\n${described.join('\n')}${lostTimesOf(rig)}`,
  );
  return undefined;
}

function lostTimesOf({ timeMachine: { lostTimes } }: Rig): string {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return lostTimes.map(({ fromMs, toMs }) => `\nlost: ${iso(fromMs)} to ${iso(toMs)}`).join('');
}
