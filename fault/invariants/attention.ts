import type { Invariant } from './invariant.js';

/** What a busy machine may add to the reconciler's seconds: killed processes may take half a minute to start. A delivery that is forgotten stays so. */
const MAX_OVERDUE_SECONDS = 60;

export const nothingNeglected: Invariant = {
  name: '8 every open delivery is touched in time',
  async breaches({ witness, rig }) {
    const { seconds, deliveryid } = witness.maxOverdue;
    const forgotten = await rig.ledger.forgotten();
    return [
      ...(seconds > MAX_OVERDUE_SECONDS
        ? [
            `delivery ${deliveryid ?? '?'}: ${seconds.toFixed(1)} s past its time; ${MAX_OVERDUE_SECONDS} s are allowed`,
          ]
        : []),
      ...forgotten.map((id) => `delivery ${id}: open, and nobody will look at it`),
    ];
  },
};
