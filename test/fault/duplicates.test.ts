import { expect } from 'chai';
import type { Accounts } from '../../fault/analysis/accounts.js';
import { findDuplicates, type Duplicate } from '../../fault/analysis/duplicates.js';
import type { Call, CallBook } from '../../fault/rig/calls.js';
import type { Strike } from '../../fault/rig/strikes.js';

const ATTEMPTS = [
  { attempt: 1, outcome: 'ambiguous', startedAtMs: 30_295, finishedAtMs: 36_690 },
  { attempt: 2, outcome: 'sent', startedAtMs: 36_697, finishedAtMs: 36_730 },
];

/** Two emails of delivery 7: of worker B at 36.716 s, whose attempt is on record as sent, and of worker A `atMs`. */
function duplicateOf(strikes: readonly Strike[], atMs: number): Duplicate | undefined {
  const calls: Call[] = [
    { deliveryid: '7', by: 'worker B', sentAtMs: 36_716 },
    { deliveryid: '7', by: 'worker A', sentAtMs: atMs },
  ];
  const accounts = {
    accepted: new Map([['7', [36_718, atMs + 4].map((receivedAtMs) => ({ deliveryid: '7', receivedAtMs }))]]),
    attempts: new Map([['7', ATTEMPTS]]),
    deliveries: new Map(),
    batches: new Map(),
    ofOrder: new Map(),
  } as unknown as Accounts;
  const book = { of: () => calls } as unknown as CallBook;
  return findDuplicates(accounts, { strikes, spans: [], calls: book })[0];
}

const stop = (more: Partial<Strike> = {}): Strike => ({
  window: 'W11',
  member: 'worker A',
  atMs: 30_320,
  overAtMs: 43_370,
  ...more,
});

describe('an email of an ambiguous attempt, after that of the worker that took the delivery over', () => {
  it('is explained by a stop of its worker during the attempt, right before the email', () => {
    expect(duplicateOf([stop()], 43_385)).to.include({ accounted: true, explained: true, window: 'W11' });
  });

  const unexplained: readonly (readonly [string, readonly Strike[], number])[] = [
    ['without a stop', [], 43_385],
    ['with a stop of another worker', [stop({ member: 'worker B' })], 43_385],
    ['with a kill', [stop({ window: 'W7', overAtMs: 30_320 })], 43_385],
    ['with a stop after the attempt was given up', [stop({ atMs: 40_000 })], 43_385],
    ['when the worker had time to look at its lease again', [stop()], 44_000],
  ];
  for (const [when, strikes, atMs] of unexplained) {
    it(`is a bug ${when}`, () => {
      expect(duplicateOf(strikes, atMs)).to.include({ accounted: true, explained: false });
    });
  }
});
