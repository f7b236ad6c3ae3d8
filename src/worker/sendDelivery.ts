import type { AttemptFinish } from '../db/delivery/finishAttempts.js';
import { IDEMPOTENT_CARRIERS } from '../db/delivery/leases.js';
import type { LoadedDelivery } from '../db/delivery/loadDeliveries.js';
import { RECORD_TOO_LARGE } from '../db/delivery/recordSize.js';
import { formatAddress } from '../email/addresses.js';
import { composeEmail, type ComposeDeps } from '../email/composeEmail.js';
import type { Email } from '../email/email.js';
import type { Account } from '../email/mail/account.js';
import { idempotencyKeyOf, messageIdOf } from '../email/mail/messageId.js';
import type { MailTransport, SendOutcome } from '../email/mail/transport.js';
import { packMail, toSentMail } from '../email/sentMail.js';
import { storable } from '../email/storableText.js';
import { unsubscribeUrl } from '../email/unsubscribeLink.js';
import { variantNames } from '../email/variantNames.js';
import type { Logger } from '../log.js';
import type { DeliveryJob } from '../queue/jobs.js';
import type { Queue } from '../queue/queue.js';
import type { KeyRing } from '../secrets.js';
import { traced, type Span } from '../tracing/tracing.js';
import type { AccountReader } from './accountReader.js';
import type { AttemptedDelivery, AttemptReport } from './attemptReport.js';
import type { AccountName, CarrierHolds } from './carrierHolds.js';
import { chooseCarrier } from './chooseCarrier.js';
import type { DeliveryLedger } from './deliveryLedger.js';
import { refusedEvent } from './refusedEvent.js';
import { tracedDelivery, tracedSend } from './deliverySpan.js';
import { removeSuppressed } from './removeSuppressed.js';
import type { LeaseKeeper } from './leaseKeeper.js';
import { decide, fallBack, isCertainFailure, type Decision, type RetryTerms } from './retryPolicy.js';

export interface SendDeps extends ComposeDeps {
  readonly ledger: DeliveryLedger;
  readonly leases: LeaseKeeper;
  readonly transport: MailTransport;
  readonly queue: Pick<Queue, 'addDeliveries'>;
  readonly readAccounts: AccountReader;
  readonly holds: CarrierHolds;
  readonly retryTerms: Omit<RetryTerms, 'attempts' | 'policy'>;
  readonly sendDeadlineMs: number;
  /** Seals unsubscribe links and encrypts kept mails. */
  readonly keyRing: KeyRing;
  /** Whether this is one of several cells: links then tell the proxy in front their tenant. */
  readonly isCell?: boolean;
  /** Whether mails are kept as sent (`KEEP_MAIL_DAYS`). */
  readonly keepsMail: boolean;
  readonly log: Logger;
  readonly report: AttemptReport;
}

/**
 * One attempt at a delivery, from the job to the ledger's record. Failures of the tenant, the provider or the network
 * become a state of the delivery; rejects only when the database is unavailable.
 * @param redelivered whether an earlier worker started the same job and died
 * @param loaded a recent copy of the delivery: if it is stale, the start is refused
 * @param batch its batch's span
 * @returns 'suspect' when nothing was done, because the delivery is for `sendSuspect`
 */
export async function sendDelivery(
  deps: SendDeps,
  job: DeliveryJob,
  redelivered: boolean,
  loaded?: LoadedDelivery,
  batch?: Span,
): Promise<'done' | 'suspect'> {
  const delivery = loaded ?? (await deps.ledger.load(job));
  if (!delivery || !isOpen(delivery, job)) return 'done';
  if (delivery.lost >= SUSPECT_AFTER) return 'suspect';
  await tracedDelivery(delivery, batch, (span) => attemptDelivery(deps, delivery, redelivered, span));
  return 'done';
}

/** As `sendDelivery`, for a delivery that may be crashing workers. */
export async function sendSuspect(deps: SendDeps, job: DeliveryJob, redelivered: boolean): Promise<void> {
  const delivery = await deps.ledger.load(job);
  if (!delivery || !isOpen(delivery, job)) return;
  await tracedDelivery(delivery, undefined, (span) => attemptDelivery(deps, delivery, redelivered, span));
}

/** Consecutive attempts ended by a crash that make a delivery a suspect. */
const SUSPECT_AFTER = 2;

async function attemptDelivery(
  deps: SendDeps,
  loaded: LoadedDelivery,
  redelivered: boolean,
  span: Span | undefined,
): Promise<void> {
  const { needsAccount } = deps.transport;
  const accounts = needsAccount && loaded.accounts ? deps.readAccounts(loaded.tenantid, loaded.accounts) : [];
  const carrier = needsAccount ? (accounts[0]?.kind ?? 'sendgrid') : 'mailbox';
  const delivery = { ...loaded, beganAtMs: performance.now(), carrier, span };
  if (redelivered && !(await deps.ledger.countRedeliveredStart(delivery))) return;

  const obstacle = needsAccount ? findObstacle(deps, delivery, accounts) : undefined;
  if (obstacle) return handleObstacle(deps, delivery, obstacle);

  const composed = await traced(span, 'compose', {}, (part) => compose(deps, { ...delivery, span: part }));
  if (composed.kind !== 'email') return recordNoEmail(deps, delivery, composed);
  const allowed = await removeSuppressed(deps.ledger, delivery, composed.email);
  if (allowed.kind !== 'email') return recordNoEmail(deps, delivery, allowed);

  await sendEmail(deps, delivery, allowed.email, accounts);
}

/** A job is a hint: the delivery may have moved on since. */
function isOpen(delivery: LoadedDelivery, job: DeliveryJob): boolean {
  return delivery.starts === job.starts && (delivery.state === 'pending' || delivery.state === 'retrying');
}

type Obstacle =
  | { readonly kind: 'key-missing' }
  | { readonly kind: 'paused' }
  | { readonly kind: 'wait'; readonly waitMs: number };

function findObstacle(
  deps: SendDeps,
  { accounts: stored }: LoadedDelivery,
  accounts: readonly Account[],
): Obstacle | undefined {
  if (!stored || accounts.length === 0) return { kind: 'key-missing' };
  if (stored.pausedCode !== null) return { kind: 'paused' };
  if (stored.waitUntilMs !== null)
    return { kind: 'wait', waitMs: Math.max(0, stored.waitUntilMs - deps.now()) };
  return undefined;
}

async function handleObstacle(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  obstacle: Obstacle,
): Promise<void> {
  switch (obstacle.kind) {
    case 'paused':
      return deps.ledger.pause({
        ...keyOf(delivery),
        starts: delivery.starts,
        sending: false,
        httpStatus: null,
      });
    case 'wait': {
      const decision = decide(
        { kind: 'rate_limited', httpStatus: 429, waitMs: obstacle.waitMs },
        termsOf(deps, delivery),
      );
      return record(deps, delivery, { ...decision, outcome: null }, false);
    }
    case 'key-missing':
      return recordNoEmail(deps, delivery, {
        kind: 'failed',
        code: 'EMAIL_APIKEY_MISSING',
        error: 'the tenant has neither an email API key nor another transport',
      });
  }
}

/** Why nothing is sent this time, as recorded in the ledger. */
interface NoEmail {
  readonly kind: 'failed' | 'skipped' | 'retry';
  readonly code: string;
  readonly error: string;
}

async function compose(
  deps: SendDeps,
  delivery: AttemptedDelivery,
): Promise<{ readonly kind: 'email'; readonly email: Email } | NoEmail> {
  if (delivery.eventid === null) {
    return { kind: 'skipped', code: 'EVENT_EXPIRED', error: 'the change is older than what is kept' };
  }
  if (delivery.isTooLarge) return { kind: 'failed', code: 'EVENT_TOO_LARGE', error: RECORD_TOO_LARGE };
  const { queryRoleid } = delivery;
  if (queryRoleid === null) return { kind: 'skipped', code: 'RULE_DELETED', error: 'the rule is gone' };
  const type = delivery.typeVersion === null ? undefined : await deps.ledger.loadType(delivery);
  if (!type) return { kind: 'skipped', code: 'EMAIL_TYPE_DELETED', error: 'the email type is gone' };
  try {
    const { tenantid, emailType } = delivery;
    const event = { eventid: delivery.eventid, time: delivery.createtime };
    const composed = await composeEmail(deps, { ...delivery, queryRoleid, event }, type, {
      unsubscribeUrl: (address) =>
        unsubscribeUrl(deps, {
          tenantid,
          address,
          emailType,
          from: type.unsubscribe === 'all' ? 'all' : 'type',
        }),
      variant: (locale) => deps.ledger.loadVariant(tenantid, variantNames(emailType, locale)),
    });
    if (composed.kind === 'email') return composed;
    return { kind: composed.kind, code: composed.failure.code, error: composed.failure.message };
  } catch (error) {
    // The database failed, or it is a bug. Counted as an attempt, so that retries end either way.
    deps.log.error({ err: error, deliveryid: delivery.deliveryid }, 'a mail could not be composed');
    return { kind: 'retry', code: 'INTERNAL_ERROR', error: 'the mail could not be composed' };
  }
}

async function recordNoEmail(deps: SendDeps, delivery: AttemptedDelivery, why: NoEmail): Promise<void> {
  const decision =
    why.kind === 'retry'
      ? decide(
          { kind: 'retry', ambiguous: false, httpStatus: null, code: why.code, message: why.error },
          termsOf(deps, delivery),
        )
      : {
          ...NOTHING_SENT,
          state: why.kind,
          outcome: why.kind === 'failed' ? ('failed' as const) : null,
          counted: why.kind === 'failed',
          errorCode: why.code,
          error: why.error,
        };
  await record(deps, delivery, decision, false);
}

const NOTHING_SENT = { httpStatus: null, providerMessageId: null, nextAttemptMs: null } as const;

/** From here on mail can leave: the start is committed first, and the outcome is recorded under its attempt number. */
async function sendEmail(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  email: Email,
  accounts: readonly Account[],
): Promise<void> {
  const { tenantid, deliveryid } = delivery;
  const attempt = { ...keyOf(delivery), attempt: delivery.starts + 1 };
  const messageId = messageIdOf(deps.baseUrl, tenantid, deliveryid);
  const [route, mail] = await Promise.all([
    findRoute(deps, delivery, accounts),
    deps.keepsMail ? packMail(deps.keyRing, attempt, toSentMail(email, messageId)) : undefined,
  ]);
  const askedAtMs = performance.now();
  const started = await traced(delivery.span, 'record start', {}, () =>
    deps.ledger.start({
      ...keyOf(delivery),
      starts: delivery.starts,
      tracked: delivery.tracked,
      recipients: email.recipients.map((address) => storable(formatAddress(address))),
      subject: email.subject,
      carrier: route.carrier,
      mail: mail?.toString('base64') ?? null,
    }),
  );
  if (!started) return;
  const lease = deps.leases.hold(attempt, askedAtMs);
  try {
    const message = {
      ...email,
      tenantid,
      deliveryid,
      messageId,
      idempotencyKey: idempotencyKeyOf(messageId, route.keySince),
    };
    const calledAtMs = performance.now();
    const outcome = await tracedSend(delivery.span, route.carrier, (span) =>
      deps.transport.send(message, {
        span,
        account: route.account,
        deadlineMs: deps.sendDeadlineMs,
        mayStart: () => lease.isHeld(),
      }),
    );
    deps.report.called(route.carrier, outcome, calledAtMs);
    const sent = { ...delivery, starts: attempt.attempt, carrier: route.carrier };
    await recordOutcome(deps, sent, outcome, route);
  } finally {
    lease.release();
  }
}

/** How an attempt is sent. */
interface Route {
  /** Undefined if none is needed. */
  readonly account: Account | undefined;
  readonly carrier: string;
  /** Tried at once if this one certainly sends nothing. */
  readonly next: string | undefined;
  /** All carriers of the tenant. */
  readonly carriers: readonly string[];
  /** The attempt or redrive since which the delivery has its current idempotency key. */
  readonly keySince: number | undefined;
}

async function findRoute(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  accounts: readonly Account[],
): Promise<Route> {
  const carriers = accounts.map(({ kind }) => kind);
  const matters = carriers.length > 1 || carriers.some((carrier) => IDEMPOTENT_CARRIERS.includes(carrier));
  const history = matters && delivery.starts > 0 ? await deps.ledger.readAttempts(delivery) : [];
  const { index, next } = chooseCarrier(carriers, history, (carrier) =>
    deps.holds.isHeld(accountName(delivery, carrier)),
  );
  return {
    account: accounts[index],
    carrier: carriers[index] ?? delivery.carrier,
    next: next === undefined ? undefined : carriers[next],
    carriers,
    keySince: history.find(({ outcome, usedKey }) => outcome === 'redriven' || usedKey)?.attempt,
  };
}

async function recordOutcome(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  outcome: SendOutcome,
  route: Route,
): Promise<void> {
  if (outcome.kind === 'fenced') return;
  if (route.carriers.length > 1) return recordOneOfSeveral(deps, delivery, outcome, route);
  if (outcome.kind === 'tenant_paused') return recordPaused(deps, delivery, outcome);
  if (outcome.kind === 'rate_limited') await deps.ledger.holdTenant(delivery.tenantid, outcome.waitMs);
  await record(deps, delivery, decide(outcome, termsOf(deps, delivery)), true);
  await recordRefused(deps, delivery, outcome);
}

/** While there is another carrier, one that sends nothing holds back neither the delivery nor its tenant. */
async function recordOneOfSeveral(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  outcome: Exclude<SendOutcome, { kind: 'fenced' }>,
  { carriers, carrier, next }: Route,
): Promise<void> {
  deps.holds.note(accountName(delivery, carrier), outcome);
  const isFailure = isCertainFailure(outcome);
  if (next !== undefined && isFailure) return record(deps, delivery, fallBack(outcome, next), true);
  if (outcome.kind === 'tenant_paused') {
    const allRefused = carriers.every((each) => deps.holds.isRefused(accountName(delivery, each)));
    if (allRefused) return recordPaused(deps, delivery, outcome);
    const retry = { ...outcome, kind: 'retry', ambiguous: false } as const;
    return record(deps, delivery, decide(retry, termsOf(deps, delivery)), true);
  }
  await record(deps, delivery, decide(outcome, termsOf(deps, delivery)), true);
  await recordRefused(deps, delivery, outcome);
}

async function recordPaused(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  outcome: Extract<SendOutcome, { kind: 'tenant_paused' }>,
): Promise<void> {
  const version = delivery.accounts?.version ?? 0;
  await deps.ledger.pauseTenant(delivery.tenantid, version, outcome.code, storable(outcome.message));
  const { httpStatus, code: errorCode } = outcome;
  await deps.ledger.pause({ ...keyOf(delivery), starts: delivery.starts, sending: true, httpStatus });
  deps.report.ended(delivery, { state: 'paused', httpStatus, errorCode });
}

/** Some carriers refuse recipients immediately, others report it later; both are recorded as the same events. */
async function recordRefused(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  outcome: SendOutcome,
): Promise<void> {
  const refused = outcome.kind === 'sent' || outcome.kind === 'rejected' ? (outcome.refused ?? []) : [];
  if (refused.length === 0) return;
  const { deliveryid, starts } = delivery;
  const time = new Date(deps.now()).toISOString();
  const events = refused.map((recipient) => refusedEvent(recipient, { deliveryid, attempt: starts, time }));
  await deps.ledger.recordEvents(delivery.tenantid, events);
}

/** Records the outcome of an attempt, and queues the next one. */
async function record(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  decision: Decision,
  sending: boolean,
): Promise<void> {
  const finish: AttemptFinish = {
    ...keyOf(delivery),
    ...decision,
    error: decision.error === null ? null : storable(decision.error),
    nextAttemptMs: decision.nextAttemptMs === null ? null : Math.ceil(decision.nextAttemptMs),
    sending,
    starts: delivery.starts,
  };
  const recorded = await traced(delivery.span, 'record outcome', {}, () => deps.ledger.finish(finish));
  if (recorded) deps.report.ended(delivery, finish);
  if (!recorded || finish.nextAttemptMs === null) return;
  const starts = sending || finish.outcome === null ? delivery.starts : delivery.starts + 1;
  const job = { ...keyOf(delivery), starts };
  // If the queue is unavailable, the reconciler finds the delivery in the ledger when it is due.
  const order = { job, delayMs: finish.nextAttemptMs, ahead: 0 };
  await deps.queue.addDeliveries([order]).catch((error: unknown) => {
    deps.log.debug({ err: error }, 'a retry could not be queued; the reconciler will');
  });
}

function termsOf(deps: SendDeps, delivery: LoadedDelivery): RetryTerms {
  return { ...deps.retryTerms, attempts: delivery.attempts, policy: delivery.policy };
}

function accountName({ tenantid, accounts }: LoadedDelivery, carrier: string): AccountName {
  return { tenantid, version: accounts?.version ?? 0, carrier };
}

function keyOf({ tenantid, deliveryid, createtime }: LoadedDelivery) {
  return { tenantid, deliveryid, createtime };
}
