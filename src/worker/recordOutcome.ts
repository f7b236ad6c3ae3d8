import { knownDelivery } from '../db/ledger/deliveryKey.js';
import type { AttemptFinish } from '../db/ledger/finishAttempts.js';
import type { EmailEvent } from '../db/email/emailEvents.js';
import { comparable } from '../email/addresses.js';
import type { Email, Intended } from '../email/email.js';
import type { RefusedRecipient, SendOutcome } from '../email/carriers/sending.js';
import { toPostgresText } from '../foundation/postgresText.js';
import { traced } from '../foundation/observability/tracing/tracing.js';
import type { AttemptedDelivery } from './attemptReport.js';
import { accountName } from './carrierHolds.js';
import type { DeliverDeps } from './deliverDeps.js';
import type { Route } from './findRoute.js';
import { queueForLater } from './queueForLater.js';
import { decide, decideWithoutEmail, retryOptionsOf, type Decision, type NoEmail } from './retryPolicy.js';

/** Why no carrier is called; `paused`: the tenant's accounts accept nothing. */
export type NotSent = (NoEmail | { readonly kind: 'paused' }) & { readonly intended?: Intended | undefined };

/** Records an attempt that ended before it was sent. */
export function recordNotSent(deps: DeliverDeps, delivery: AttemptedDelivery, why: NotSent): Promise<void> {
  if (why.kind === 'paused') return pause(deps, delivery, false, null);
  const decision = decideWithoutEmail(why, retryOptionsOf(deps, delivery));
  const { recipients, subject } = why.intended ?? UNREAD;
  return record(deps, delivery, { ...decision, intended: recipients, subject }, false);
}

const UNREAD = { recipients: null, subject: null };

/** Records what became of an email, for its tenant and for the delivery. */
export async function recordOutcome(
  deps: DeliverDeps,
  delivery: AttemptedDelivery,
  outcome: SendOutcome,
  { carriers, carrier, next }: Route,
): Promise<void> {
  if (outcome.kind === 'fenced') {
    return record(deps, delivery, decide(TOO_LATE, retryOptionsOf(deps, delivery)), true);
  }
  const isOnly = carriers.length <= 1;
  if (!isOnly) deps.holds.note(accountName(delivery, carrier), outcome);
  if (outcome.kind === 'tenant_paused' && next === undefined) {
    const isRefused = (each: string): boolean => deps.holds.isRefused(accountName(delivery, each));
    if (isOnly || carriers.every(isRefused)) return recordPaused(deps, delivery, outcome);
  }
  // Each is recorded even if another can't be, and the attempt has not ended before.
  const recording = [
    record(deps, delivery, decide(outcome, retryOptionsOf(deps, delivery, next)), true),
    recordRefused(deps, delivery, outcome),
    // While there is another carrier, one that sends nothing holds back neither the delivery nor its tenant.
    ...(isOnly && outcome.kind === 'rate_limited'
      ? [deps.ledger.holdTenant(delivery.tenantid, outcome.waitMs)]
      : []),
  ];
  const failed = (await Promise.allSettled(recording)).find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Nothing has left. If the lease has passed to another worker, the delivery is no longer ours, and nothing is recorded. */
const TOO_LATE = {
  kind: 'retry',
  ambiguous: false,
  httpStatus: null,
  code: 'TOO_BUSY',
  message: 'the worker was too busy to send the email within its lease; the email did not leave',
} as const;

async function recordPaused(
  deps: DeliverDeps,
  delivery: AttemptedDelivery,
  { code, message, httpStatus }: Extract<SendOutcome, { kind: 'tenant_paused' }>,
): Promise<void> {
  const version = delivery.accounts?.version ?? 0;
  await deps.ledger.pauseTenant(delivery.tenantid, version, code, toPostgresText(message));
  await pause(deps, delivery, true, httpStatus);
  deps.report.ended(delivery, { state: 'paused', httpStatus, errorCode: code });
}

function pause(
  { ledger }: DeliverDeps,
  delivery: AttemptedDelivery,
  sending: boolean,
  httpStatus: number | null,
): Promise<void> {
  return ledger.pause({ ...knownDelivery(delivery), sending, httpStatus });
}

/** Some carriers refuse recipients immediately, others report it later; both are recorded as the same events. */
async function recordRefused(
  deps: DeliverDeps,
  delivery: AttemptedDelivery,
  outcome: SendOutcome,
): Promise<void> {
  const refused = outcome.kind === 'sent' || outcome.kind === 'rejected' ? (outcome.refused ?? []) : [];
  if (refused.length === 0) return;
  const time = new Date(deps.now()).toISOString();
  const events = refused.map((recipient) => refusedEvent(recipient, delivery, time));
  await deps.ledger.recordEvents(delivery.tenantid, events);
}

/** The bounce event of a recipient that the carrier refused immediately. */
function refusedEvent(
  { address, reason, status, isGone }: RefusedRecipient,
  { deliveryid, starts }: AttemptedDelivery,
  time: string,
): EmailEvent {
  return {
    deliveryid,
    providerEventId: `refused.${starts}.${comparable(address)}`,
    event: 'bounce',
    time,
    recipient: address,
    reason,
    status,
    type: isGone ? 'bounce' : 'blocked',
    url: null,
    suppress: isGone ? { address: comparable(address), source: 'bounce' } : null,
  };
}

/** Recorded of one email. It may have thousands, all from one value. */
const MAX_INVALID = 100;
const MAX_INVALID_CHARACTERS = 100;

/** Texts among the recipients that are no address are events of the delivery, once however often it is attempted. */
export async function recordInvalid(
  { ledger, now }: DeliverDeps,
  { tenantid, deliveryid }: AttemptedDelivery,
  { invalid = [] }: Email,
): Promise<void> {
  if (invalid.length === 0) return;
  const time = new Date(now()).toISOString();
  const texts = new Set(
    invalid.map(({ text }) => toPostgresText(text.trim().slice(0, MAX_INVALID_CHARACTERS))),
  );
  const listed = [...texts].slice(0, MAX_INVALID);
  const unlisted = texts.size - listed.length;
  const reason = `not an address${unlisted > 0 ? `, as are ${unlisted} more` : ''}`;
  const events = listed.map((recipient) => ({
    deliveryid,
    providerEventId: `invalid.${recipient}`,
    event: 'dropped',
    time,
    recipient,
    reason,
    status: null,
    type: null,
    url: null,
    suppress: null,
  }));
  await ledger.recordEvents(tenantid, events);
}

/** Records the outcome of an attempt, and queues the next one. */
async function record(
  deps: DeliverDeps,
  delivery: AttemptedDelivery,
  decision: Decision,
  sending: boolean,
): Promise<void> {
  const finish: AttemptFinish = {
    sending,
    ...knownDelivery(delivery),
    ...decision,
    error: decision.error === null ? null : toPostgresText(decision.error),
    nextAttemptMs: decision.nextAttemptMs === null ? null : Math.ceil(decision.nextAttemptMs),
  };
  const recorded = await traced(delivery.span, 'record outcome', {}, () => deps.ledger.finish(finish));
  if (!recorded) return;
  // An attempt that ended before it was sent gets its number now.
  const starts = sending || finish.outcome === null ? delivery.starts : delivery.starts + 1;
  deps.report.ended({ ...delivery, starts }, finish);
  if (finish.nextAttemptMs === null) return;
  await queueForLater(deps, [{ ...knownDelivery(delivery), starts, delayMs: finish.nextAttemptMs }]);
}
