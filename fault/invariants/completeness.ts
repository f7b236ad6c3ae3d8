import { lossOf } from '../analysis/losses.js';
import { isLost } from '../rig/timeMachine.js';
import type { Invariant } from './invariant.js';

export const nothingLost: Invariant = {
  name: '1 committed event × matching rule = one delivery, never absent',
  breaches: ({ accounts }) => accounts.expected.flatMap((expected) => lossOf(expected, accounts) ?? []),
};

export const nothingInvented: Invariant = {
  name: '2 rolled back = none',
  breaches({ accounts, rig }) {
    const rolledBack = new Set(accounts.rolledBack.map(({ mark }) => mark));
    const held = new Set(
      rig.strikes.filter(({ window }) => window === 'W1').flatMap(({ marks }) => marks ?? []),
    );
    const committed = accounts.expected.map(({ order }) => order.mark);
    return [
      ...accounts.unexpected.map(
        (row) => `delivery ${row.deliveryid} of order ${row.orderId}: no such order`,
      ),
      ...rig.carrier.entries
        .filter(({ receivedAtMs }) => !isLost(rig.timeMachine.lostTimes, receivedAtMs))
        .filter(({ subject }) => rolledBack.has(markOf(subject)))
        .map(
          ({ deliveryid, subject }) =>
            `delivery ${deliveryid}: an email "${subject}" of a change rolled back`,
        ),
      ...committed.filter((mark) => held.has(mark)).map((mark) => `${mark}: committed without its commit`),
    ];
  },
};

function markOf(subject: string): string {
  return subject.split(' ')[1] ?? '';
}
