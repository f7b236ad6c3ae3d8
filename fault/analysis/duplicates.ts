import type { Call, CallBook } from '../rig/calls.js';
import type { AttemptRow } from '../rig/ledger.js';
import type { Span, Strike } from '../rig/strikes.js';
import { WINDOWS_WITH_DUPLICATES } from '../windows/index.js';
import type { Accounts } from './accounts.js';
import { groupBy } from './groupBy.js';
import { struckDeliveries } from './struck.js';

/** A mail that the provider has taken once more. */
export interface Duplicate {
  readonly deliveryid: string;
  /** Whether the ledger holds an ambiguous attempt for it. */
  readonly accounted: boolean;
  /** The window of the strike that lost the first mail's answer, or the fault that did; undefined when there is none. */
  readonly window: string | undefined;
  /** Whether an answer may have been lost there. */
  readonly explained: boolean;
  /** Who sent the first of the two, and how long the ledger held its attempt to be under way. */
  readonly first: FirstMail | undefined;
  /** All calls of the provider for this delivery that were seen on the wire. */
  readonly calls: readonly Call[];
  /** What had been done to the sender of the first before that. */
  readonly before: Strike | undefined;
}

/** A mail that was sent again, from its call of the provider until the ledger gave its attempt up. */
export interface FirstMail {
  readonly by: string;
  readonly sentAtMs: number;
  readonly givenUpAtMs: number;
}

export interface WhatWasDone {
  readonly strikes: readonly Strike[];
  readonly spans: readonly Span[];
  readonly calls: CallBook;
}

/**
 * A mail is sent again when its attempt was given up. What explains that was done to the process that sent the first
 * mail, after it had called the provider and before the ledger gave up: a process that was well all that time should
 * have kept its lease and recorded the end.
 */
export function findDuplicates(accounts: Accounts, done: WhatWasDone): readonly Duplicate[] {
  const strikesOn = groupBy(done.strikes, ({ member }) => member);
  const duplicates: Duplicate[] = [];
  for (const [deliveryid, mails] of accounts.accepted) {
    const attempts = accounts.attempts.get(deliveryid) ?? [];
    const ambiguous = attempts.filter(({ outcome }) => outcome === 'ambiguous').length;
    for (let extra = 1; extra < mails.length; extra++) {
      const receivedAtMs = mails[extra - 1]?.receivedAtMs ?? 0;
      const first = firstMail(done.calls, attempts, deliveryid, receivedAtMs);
      const strike = first && strikesOn.get(first.by)?.find((candidate) => concerns(candidate, first));
      const tenantid = accounts.deliveries.get(deliveryid)?.tenantid;
      const span = first && spanOver(done.spans, first, tenantid);
      // With the provider while their process was struck for another's sake: that is W8, whatever struck it.
      const window =
        strike && (struckDeliveries(strike, accounts).includes(deliveryid) ? strike.window : 'W8');
      duplicates.push({
        deliveryid,
        accounted: extra <= ambiguous,
        window: window ?? span?.fault,
        explained: window === undefined ? span?.losesAnswers === true : WINDOWS_WITH_DUPLICATES.has(window),
        first,
        calls: done.calls.of(deliveryid),
        before: first && strikesOn.get(first.by)?.findLast(({ atMs }) => atMs < first.sentAtMs),
      });
    }
  }
  return duplicates;
}

/** PostgreSQL's times have parts of milliseconds, ours have not. */
const ROUNDING_MS = 1;

function firstMail(
  calls: CallBook,
  attempts: readonly AttemptRow[],
  deliveryid: string,
  receivedAtMs: number,
): FirstMail | undefined {
  const call = calls.of(deliveryid).findLast(({ sentAtMs }) => sentAtMs <= receivedAtMs);
  if (!call) return undefined;
  const attempt = attempts.findLast(({ startedAtMs }) => startedAtMs <= call.sentAtMs + ROUNDING_MS);
  if (attempt?.outcome !== 'ambiguous') return undefined;
  return { by: call.by, sentAtMs: call.sentAtMs, givenUpAtMs: attempt.finishedAtMs + ROUNDING_MS };
}

function concerns({ atMs, overAtMs = atMs }: Strike, { sentAtMs, givenUpAtMs }: FirstMail): boolean {
  return atMs <= givenUpAtMs && overAtMs >= sentAtMs;
}

/** One that may have lost the answer, before one that may not. */
function spanOver(
  spans: readonly Span[],
  { sentAtMs, givenUpAtMs }: FirstMail,
  tenantid: number | undefined,
): Span | undefined {
  const over = spans.filter(
    ({ fromMs, toMs, tenantid: only }) =>
      fromMs <= givenUpAtMs && toMs >= sentAtMs && (only === undefined || only === tenantid),
  );
  return over.find(({ losesAnswers }) => losesAnswers) ?? over[0];
}
