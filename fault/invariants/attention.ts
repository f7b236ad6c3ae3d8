import type { Invariant } from './invariant.js';

/** The reconciler's period, as shipped, and what a busy machine may add. */
const MAX_OVERDUE_SECONDS = 5 + 5;

export const nothingNeglected: Invariant = {
  name: "8 every open delivery is touched within the reconciler's period",
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
