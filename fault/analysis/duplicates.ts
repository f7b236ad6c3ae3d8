import type { Call, CallBook } from '../rig/calls.js';
import type { AttemptRow } from '../rig/ledger.js';
import type { Span, Strike } from '../rig/strikes.js';
import { WINDOWS_WITH_DUPLICATES } from '../windows/index.js';
import type { Accounts } from './accounts.js';
import { groupBy } from './groupBy.js';
import { struckDeliveries } from './struck.js';

/** An email that the carrier accepted again. */
export interface Duplicate {
  readonly deliveryid: string;
  /** Whether the ledger holds an ambiguous attempt for it. */
  readonly accounted: boolean;
  /**
   * The window of the strike, or the fault, that lost the response to the first email; undefined if there is none.
   */
  readonly window: string | undefined;
  /** Whether that can lose a response. */
  readonly explained: boolean;
  /** The sender of the first email, and how long the ledger considered its attempt to be in flight. */
  readonly first: FirstEmail | undefined;
  /** All carrier calls for this delivery seen on the wire. */
  readonly calls: readonly Call[];
  /** The last strike on the sender before the first email. */
  readonly before: Strike | undefined;
}

/** An email that was sent again: from the carrier call until the ledger gave up the attempt. */
export interface FirstEmail {
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
 * An email is sent again after its attempt was given up. The explanation must be something done to the process that
 * sent the first email, between its carrier call and the moment the ledger gave up: an undisturbed process should
 * have kept its lease and recorded the outcome.
 */
export function findDuplicates(accounts: Accounts, done: WhatWasDone): readonly Duplicate[] {
  const strikesOn = groupBy(done.strikes, ({ member }) => member);
  const duplicates: Duplicate[] = [];
  for (const [deliveryid, emails] of accounts.accepted) {
    const attempts = accounts.attempts.get(deliveryid) ?? [];
    const ambiguous = attempts.filter(({ outcome }) => outcome === 'ambiguous').length;
    for (let extra = 1; extra < emails.length; extra++) {
      const receivedAtMs = emails[extra - 1]?.receivedAtMs ?? 0;
      const first = firstEmail(done.calls, attempts, deliveryid, receivedAtMs);
      const strike = first && strikesOn.get(first.by)?.find((candidate) => concerns(candidate, first));
      const tenantid = accounts.deliveries.get(deliveryid)?.tenantid;
      const span = first && spanOver(done.spans, first, tenantid);
      // In flight to the carrier when their process was struck for another reason: that counts as W8, whatever the
      // strike.
      const window =
        strike && (struckDeliveries(strike, accounts).includes(deliveryid) ? strike.window : 'W8');
      duplicates.push({
        deliveryid,
        accounted: extra <= ambiguous,
        window: window ?? span?.fault,
        explained: window === undefined ? span?.losesResponses === true : WINDOWS_WITH_DUPLICATES.has(window),
        first,
        calls: done.calls.of(deliveryid),
        before: first && strikesOn.get(first.by)?.findLast(({ atMs }) => atMs < first.sentAtMs),
      });
    }
  }
  return duplicates;
}

/** PostgreSQL's timestamps have fractions of milliseconds, ours don't. */
const ROUNDING_MS = 1;

function firstEmail(
  calls: CallBook,
  attempts: readonly AttemptRow[],
  deliveryid: string,
  receivedAtMs: number,
): FirstEmail | undefined {
  const call = calls.of(deliveryid).findLast(({ sentAtMs }) => sentAtMs <= receivedAtMs);
  if (!call) return undefined;
  const attempt = attempts.findLast(({ startedAtMs }) => startedAtMs <= call.sentAtMs + ROUNDING_MS);
  if (attempt?.outcome !== 'ambiguous') return undefined;
  return { by: call.by, sentAtMs: call.sentAtMs, givenUpAtMs: attempt.finishedAtMs + ROUNDING_MS };
}

function concerns({ atMs, overAtMs = atMs }: Strike, { sentAtMs, givenUpAtMs }: FirstEmail): boolean {
  return atMs <= givenUpAtMs && overAtMs >= sentAtMs;
}

/** Prefers a cause that can lose the response. */
function spanOver(
  spans: readonly Span[],
  { sentAtMs, givenUpAtMs }: FirstEmail,
  tenantid: number | undefined,
): Span | undefined {
  const over = spans.filter(
    ({ fromMs, toMs, tenantid: only }) =>
      fromMs <= givenUpAtMs && toMs >= sentAtMs && (only === undefined || only === tenantid),
  );
  return over.find(({ losesResponses }) => losesResponses) ?? over[0];
}
