import { isLost } from '../rig/timeMachine.js';
import type { Invariant } from './invariant.js';

export const responsesTrue: Invariant = {
  name: "11 responds to clients are true: acknowledged orders exist, refused ones don't, all others were reported as unknown",
  breaches({ accounts, rig }) {
    const committed = new Set(accounts.expected.map(({ order }) => order.mark));
    return [...rig.load.orders.values()].flatMap(({ mark, acknowledgedAtMs, refusal }) => {
      if (acknowledgedAtMs !== undefined && !committed.has(mark)) {
        return isLost(rig.timeMachine.lostTimes, acknowledgedAtMs) ? [] : [`${mark}: acknowledged, and gone`];
      }
      if (refusal && committed.has(mark) && !refusal.body.includes('"OUTCOME_UNKNOWN"')) {
        return [`${mark}: refused, and committed: ${refusal.body}`];
      }
      return [];
    });
  },
};
