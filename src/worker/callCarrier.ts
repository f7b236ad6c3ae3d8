import type { Email } from '../email/email.js';
import type { SendOutcome } from '../email/carriers/sending.js';
import { idempotencyKeyOf } from '../email/message/messageId.js';
import type { AttemptedDelivery } from './attemptReport.js';
import type { DeliverDeps } from './deliverDeps.js';
import { tracedSend } from './deliverySpan.js';
import type { Route } from './findRoute.js';
import { furtherAttempts, retryOptionsOf } from './retryPolicy.js';

/** A call of a carrier, for an attempt whose start is recorded. */
export interface StartedCall {
  readonly email: Email;
  readonly route: Route;
  /** `performance.now()` from before the lease was requested that came with the start. */
  readonly requestedAtMs: number;
  /** Called if the email waits for a call that it shares with others. */
  readonly onWait?: (() => void) | undefined;
}

/**
 * Calls the carrier; never rejects. The call begins when the carrier's code is told that it may start, which is the last thing it asks
 * before the email can leave. Whatever fails before has certainly sent nothing, and after it may have.
 */
export async function callCarrier(
  deps: DeliverDeps,
  delivery: AttemptedDelivery,
  { email, route, requestedAtMs, onWait }: StartedCall,
): Promise<SendOutcome> {
  const { carrier, account, keySince, next } = route;
  const { tenantid, deliveryid, messageId, span: parent } = delivery;
  let hasBegun = false as boolean;
  try {
    const isOurs = deps.claimed.begin(delivery, requestedAtMs);
    const mayStart = (): boolean => {
      const isAllowed = isOurs();
      hasBegun ||= isAllowed;
      return isAllowed;
    };
    const idempotencyKey = idempotencyKeyOf(messageId, keySince);
    const message = { tenantid, deliveryid, messageId, idempotencyKey, ...email };
    const calledAtMs = performance.now();
    const outcome = await tracedSend(parent, carrier, (span) =>
      deps.carriers.send(message, {
        span,
        account,
        deadlineMs: deps.sendDeadlineMs,
        mayStart,
        onWait,
        rowCharacters: charactersOf(delivery),
        ...furtherAttempts(retryOptionsOf(deps, delivery, next)),
      }),
    );
    deps.report.called(carrier, outcome, calledAtMs);
    return outcome;
  } catch (error) {
    deps.log.error(
      { err: error, deliveryid, carrier, hasBegun },
      'an email could not be passed to the carrier',
    );
    const message = `the email could not be passed to the carrier; ${hasBegun ? 'it may have been accepted' : 'it did not leave'}`;
    return { kind: 'retry', ambiguous: hasBegun, httpStatus: null, code: 'INTERNAL_ERROR', message };
  }
}

/** Of the rows that are in memory as long as the delivery is. */
const charactersOf = ({ old, new: changed, file }: AttemptedDelivery): number =>
  [old, changed, file].reduce((sum, text) => sum + (text?.length ?? 0), 0);
