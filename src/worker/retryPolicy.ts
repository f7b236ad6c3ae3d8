import type { HeldDelivery } from '../db/ledger/deliveryKey.js';
import type { AttemptFinish } from '../db/ledger/finishAttempts.js';
import type { DeliveryPolicy, LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import type { SendOutcome } from '../email/carriers/sending.js';

/** What to record for an attempt, and what happens to its delivery. */
export type Decision = Omit<AttemptFinish, keyof HeldDelivery>;

/** An attempt's outcome, unless it was fenced: then another worker has the delivery. */
export type DecidableOutcome = Exclude<SendOutcome, { kind: 'fenced' }>;

/** Why nothing is sent this time; `wait`: the tenant's rate limit. */
export type NoEmail =
  | { readonly kind: 'failed' | 'skipped' | 'retry'; readonly code: string; readonly message: string }
  | { readonly kind: 'wait'; readonly waitMs: number };

export interface RetryOptions {
  /** Counted attempts before this one. */
  readonly attempts: number;
  readonly policy: DeliveryPolicy;
  /** The carrier to fall back to at once, if nothing was sent. */
  readonly next?: string | undefined;
  readonly maxAttempts: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  /** 0 ≤ random < 1 */
  readonly random: () => number;
}

/** What is the same for all deliveries of a worker. */
type CommonOptions = Omit<RetryOptions, 'attempts' | 'policy' | 'next'>;

export function retryOptionsOf(
  { retryOptions }: { readonly retryOptions: CommonOptions },
  { attempts, policy }: Pick<LoadedDelivery, 'attempts' | 'policy'>,
  next?: string,
): RetryOptions {
  return { ...retryOptions, attempts, policy, next };
}

/** Attempts that may send an email again to those who have got it. A recipient who is never accepted must not cost the others a dozen copies. */
const MAX_REPEATING = 3;

/** For a carrier that can send to some recipients only: which attempts may follow this one. */
export function furtherAttempts({ attempts, policy, next, maxAttempts }: RetryOptions) {
  const mayRetry = next !== undefined || attempts + 1 < maxAttempts;
  const mayRepeat = mayRetry && policy === 'at_least_once' && attempts + 1 < MAX_REPEATING;
  return { mayRetry, mayRepeat };
}

/** Jitter for deliveries that waited for the same rate limit. */
const SPREAD_MS = 2_000;

const WAIT = { errorCode: 'RATE_LIMITED', error: 'the carrier asks to wait', counted: false } as const;

/** The retry policy, as a pure function: what follows from a call to the carrier. */
export function decide(outcome: DecidableOutcome, options: RetryOptions): Decision {
  const { httpStatus } = outcome;
  if (options.next !== undefined && isCertainFailure(outcome)) return fallBack(outcome, options.next);
  switch (outcome.kind) {
    case 'sent':
      return end('sent', 'sent', httpStatus, { providerMessageId: outcome.providerMessageId });
    case 'rejected':
      return end('failed', 'rejected', httpStatus, reasonOf(outcome));
    case 'rate_limited': {
      const nextAttemptMs = outcome.waitMs + options.random() * SPREAD_MS;
      return end('retrying', 'rate_limited', httpStatus, { ...WAIT, nextAttemptMs });
    }
    // Of several accounts, not all are refused: another one may take it later.
    case 'tenant_paused':
    case 'retry': {
      const isAmbiguous = outcome.kind === 'retry' && outcome.ambiguous;
      const recorded = isAmbiguous ? 'ambiguous' : 'retry';
      const reason = reasonOf(outcome);
      if (isAmbiguous && options.policy === 'at_most_once')
        return end('unknown', recorded, httpStatus, reason);
      if (options.attempts + 1 >= options.maxAttempts) return end('failed', recorded, httpStatus, reason);
      const nextAttemptMs = backoffMs(options.attempts, options);
      return end('retrying', recorded, httpStatus, { ...reason, nextAttemptMs });
    }
  }
}

/** What follows when the carrier was not called. */
export function decideWithoutEmail(why: NoEmail, options: RetryOptions): Decision {
  switch (why.kind) {
    case 'failed':
      return end('failed', 'failed', null, reasonOf(why));
    case 'skipped':
      return end('skipped', null, null, { ...reasonOf(why), counted: false });
    case 'retry':
      return decide({ ...why, kind: 'retry', ambiguous: false, httpStatus: null }, options);
    case 'wait':
      return { ...decide({ ...why, kind: 'rate_limited', httpStatus: 429 }, options), outcome: null };
  }
}

type CertainFailure = Extract<SendOutcome, { kind: 'retry' | 'tenant_paused' | 'rate_limited' }>;

/** Whether nothing was sent, and another carrier may do better. */
function isCertainFailure(outcome: SendOutcome): outcome is CertainFailure {
  if (outcome.kind === 'retry') return !outcome.ambiguous;
  return outcome.kind === 'tenant_paused' || outcome.kind === 'rate_limited';
}

/** The next carrier is tried at once, in an attempt of its own. */
function fallBack(outcome: CertainFailure, next: string): Decision {
  const recorded = outcome.kind === 'tenant_paused' ? 'paused' : outcome.kind;
  const { errorCode, error } = outcome.kind === 'rate_limited' ? WAIT : reasonOf(outcome);
  return end('retrying', recorded, outcome.httpStatus, {
    errorCode,
    error: `${error}; ${next} is tried next`,
    counted: false,
    nextAttemptMs: 0,
  });
}

/** Exponential backoff with full jitter. */
export function backoffMs(
  attempts: number,
  options: Pick<RetryOptions, 'backoffBaseMs' | 'backoffCapMs' | 'random'>,
): number {
  const bound = Math.min(options.backoffCapMs, options.backoffBaseMs * 2 ** Math.min(attempts, 40));
  return options.random() * bound;
}

function reasonOf({ code, message }: { readonly code: string; readonly message: string }) {
  return { errorCode: code, error: message };
}

function end(
  state: Decision['state'],
  outcome: Decision['outcome'],
  httpStatus: number | null,
  rest: Partial<Decision>,
): Decision {
  return {
    state,
    outcome,
    httpStatus,
    counted: true,
    providerMessageId: null,
    errorCode: null,
    error: null,
    nextAttemptMs: null,
    ...rest,
  };
}
