import type { AttemptFinish } from '../db/delivery/finishAttempts.js';
import type { DeliveryPolicy } from '../db/delivery/loadDeliveries.js';
import type { SendOutcome } from '../email/mail/transport.js';

/** What to record for an attempt, and what happens to its delivery. */
export type Decision = Pick<
  AttemptFinish,
  | 'outcome'
  | 'state'
  | 'counted'
  | 'httpStatus'
  | 'providerMessageId'
  | 'errorCode'
  | 'error'
  | 'nextAttemptMs'
>;

/** Outcomes subject to this policy. Deliveries of a paused tenant are paused; a fenced attempt belongs to another worker. */
export type DecidableOutcome = Exclude<SendOutcome, { kind: 'tenant_paused' } | { kind: 'fenced' }>;

export interface RetryTerms {
  /** Counted attempts before this one. */
  readonly attempts: number;
  readonly policy: DeliveryPolicy;
  readonly maxAttempts: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  /** 0 ≤ random < 1 */
  readonly random: () => number;
}

/** Jitter for deliveries that waited for the same rate limit. */
const SPREAD_MS = 2_000;

/** The whole retry policy, as a pure function. */
export function decide(outcome: DecidableOutcome, terms: RetryTerms): Decision {
  switch (outcome.kind) {
    case 'sent':
      return end('sent', 'sent', outcome.httpStatus, { providerMessageId: outcome.providerMessageId });
    case 'rejected':
      return end('failed', 'rejected', outcome.httpStatus, {
        errorCode: outcome.code,
        error: outcome.message,
      });
    case 'rate_limited':
      return {
        ...end('retrying', 'rate_limited', outcome.httpStatus, {
          errorCode: 'RATE_LIMITED',
          error: 'the provider asks to wait',
        }),
        counted: false,
        nextAttemptMs: outcome.waitMs + terms.random() * SPREAD_MS,
      };
    case 'retry': {
      const recorded = outcome.ambiguous ? 'ambiguous' : 'retry';
      const reason = { errorCode: outcome.code, error: outcome.message };
      if (outcome.ambiguous && terms.policy === 'at_most_once') {
        return end('unknown', recorded, outcome.httpStatus, reason);
      }
      if (terms.attempts + 1 >= terms.maxAttempts) return end('failed', recorded, outcome.httpStatus, reason);
      return {
        ...end('retrying', recorded, outcome.httpStatus, reason),
        nextAttemptMs: backoffMs(terms.attempts, terms),
      };
    }
  }
}

/** Whether nothing was sent, and another carrier may do better. */
export function isCertainFailure(
  outcome: SendOutcome,
): outcome is Extract<SendOutcome, { kind: 'retry' | 'tenant_paused' | 'rate_limited' }> {
  if (outcome.kind === 'retry') return !outcome.ambiguous;
  return outcome.kind === 'tenant_paused' || outcome.kind === 'rate_limited';
}

/** After a certain failure with one carrier: the next one is tried at once, in an attempt of its own. */
export function fallBack(
  outcome: Extract<SendOutcome, { kind: 'retry' | 'tenant_paused' | 'rate_limited' }>,
  next: string,
): Decision {
  const recorded = ({ retry: 'retry', tenant_paused: 'paused', rate_limited: 'rate_limited' } as const)[
    outcome.kind
  ];
  const [code, why] =
    outcome.kind === 'rate_limited'
      ? ['RATE_LIMITED', 'the provider asks to wait']
      : [outcome.code, outcome.message];
  return {
    ...end('retrying', recorded, outcome.httpStatus, {
      errorCode: code,
      error: `${why}; ${next} is tried next`,
    }),
    counted: false,
    nextAttemptMs: 0,
  };
}

/** Exponential backoff with full jitter. */
export function backoffMs(
  attempts: number,
  terms: Pick<RetryTerms, 'backoffBaseMs' | 'backoffCapMs' | 'random'>,
): number {
  const bound = Math.min(terms.backoffCapMs, terms.backoffBaseMs * 2 ** Math.min(attempts, 40));
  return terms.random() * bound;
}

function end(
  state: Decision['state'],
  outcome: NonNullable<Decision['outcome']>,
  httpStatus: number | null,
  rest: Partial<Pick<Decision, 'providerMessageId' | 'errorCode' | 'error'>>,
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
