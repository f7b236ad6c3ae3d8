import type { ProviderEntry } from '../carrier/ledger.js';
import type { Call, CallBook } from '../rig/calls.js';
import type { AttemptRow } from '../rig/ledger.js';
import type { Span, Strike } from '../rig/strikes.js';
import { WINDOWS_THAT_STOP, WINDOWS_WITH_DUPLICATES } from '../windows/index.js';
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
 * have kept its lease and recorded the outcome. Or the later email is that of the given-up attempt: see stopBefore.
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
      const late =
        window === undefined ? stopBefore(emails[extra], { done, attempts, strikesOn }) : undefined;
      duplicates.push({
        deliveryid,
        accounted: extra <= ambiguous,
        window: window ?? late?.window ?? span?.fault,
        explained:
          window === undefined
            ? late !== undefined || span?.losesResponses === true
            : WINDOWS_WITH_DUPLICATES.has(window),
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

/** A resumed process writes at once what it had checked before it was stopped: later it has checked again. */
const RESUMING_MS = 500;

/**
 * The stop in the instant between a worker's last look at its lease and its write, so that its email came after that of
 * the worker that took the delivery over. Its attempt is ambiguous.
 */
function stopBefore(
  email: ProviderEntry | undefined,
  { done, attempts, strikesOn }: Happened,
): Strike | undefined {
  const call =
    email && done.calls.of(email.deliveryid).findLast(({ sentAtMs }) => sentAtMs <= email.receivedAtMs);
  if (!call) return undefined;
  const ambiguous = attempts.filter(({ outcome }) => outcome === 'ambiguous');
  return strikesOn
    .get(call.by)
    ?.find(
      ({ window, atMs, overAtMs = Infinity }) =>
        WINDOWS_THAT_STOP.has(window) &&
        call.sentAtMs >= overAtMs - ROUNDING_MS &&
        call.sentAtMs < overAtMs + RESUMING_MS &&
        ambiguous.some(({ startedAtMs, finishedAtMs }) => startedAtMs <= atMs && finishedAtMs >= atMs),
    );
}

interface Happened {
  readonly done: WhatWasDone;
  readonly attempts: readonly AttemptRow[];
  readonly strikesOn: ReadonlyMap<string, readonly Strike[]>;
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
