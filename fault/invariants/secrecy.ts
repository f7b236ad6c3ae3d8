import { namesIn } from '../rig/canaries.js';
import type { Invariant } from './invariant.js';

/** The processes must have exited, so that their output is complete. */
export const secretsKept: Invariant = {
  name: '9 no secret in logs or rows',
  async breaches({ rig }) {
    const found: string[] = [...rig.printedSecrets].map((name) => `${name}: printed by a process`);
    for await (const { table, text } of rig.ledger.texts('rowpost')) {
      found.push(...namesIn(text, rig.canaries).map((name) => `${name}: in ${table}`));
    }
    for await (const text of rig.queueStore.texts()) {
      found.push(...namesIn(text, rig.canaries).map((name) => `${name}: in the queue`));
    }
    for (const { deliveryid, secrets } of rig.carrier.entries) {
      found.push(...secrets.map((name) => `${name}: in the email of delivery ${deliveryid}`));
    }
    return found;
  },
};
