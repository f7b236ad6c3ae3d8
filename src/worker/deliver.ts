import { knownDelivery, type KnownDelivery } from '../db/ledger/deliveryKey.js';
import type { AttemptFinish } from '../db/ledger/finishAttempts.js';
import { IDEMPOTENT_CARRIERS } from '../db/ledger/leases.js';
import type { LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import { formatAddress } from '../email/addresses.js';
import type { Email } from '../email/email.js';
import type { Account } from '../email/carriers/account.js';
import { idempotencyKeyOf, messageIdOf } from '../email/message/messageId.js';
import { openAccounts } from '../email/carriers/openAccounts.js';
import type { MailTransport, SendOutcome } from '../email/carriers/transport.js';
import { packMail, toSentMail } from '../email/sentMail.js';
import { storable } from '../email/storableText.js';
import type { FairRoom } from '../foundation/limits/fairRoom.js';
import type { Queue } from '../queue/queue.js';
import { traced, type Span } from '../foundation/observability/tracing/tracing.js';
import type { AttemptedDelivery, AttemptReport } from './attemptReport.js';
import type { AccountName, CarrierHolds } from './carrierHolds.js';
import { chooseCarrier } from './chooseCarrier.js';
import type { ClaimedDeliveries } from './claimedDeliveries.js';
import { refusedEvent } from './refusedEvent.js';
import { tracedDelivery, tracedSend } from './deliverySpan.js';
import { prepareEmail, type PrepareDeps } from './prepareEmail.js';
import { queueForLater } from './queueForLater.js';
import { decide, decideWithoutEmail, type Decision, type NoEmail, type RetryTerms } from './retryPolicy.js';

export interface SendDeps extends PrepareDeps {
  readonly claimed: ClaimedDeliveries;
  readonly transport: MailTransport;
  readonly queue: Pick<Queue, 'addDeliveries'>;
  readonly holds: CarrierHolds;
  /** Memory for large records. */
  readonly records: FairRoom;
  readonly retryTerms: Omit<RetryTerms, 'attempts' | 'policy' | 'next'>;
  readonly sendDeadlineMs: number;
  /** Whether mails are kept as sent (`KEEP_MAIL_DAYS`). */
  readonly keepsMail: boolean;
  readonly report: AttemptReport;
}

export interface AttemptOptions {
  /** Whether an earlier worker started the same job and died. */
  readonly redelivered: boolean;
  /** A recent copy of the delivery: if it is stale, the start is refused. */
  readonly loaded?: LoadedDelivery | undefined;
  /** Its batch's span. */
  readonly batch?: Span | undefined;
  /** Whether a delivery that may be crashing workers is attempted too. */
  readonly mayBeSuspect?: boolean;
}

/** Consecutive attempts ended by a crash that make a delivery a suspect. */
const SUSPECT_AFTER = 2;

/**
 * One attempt at a delivery, from the job to the ledger's record. Failures of the tenant, the provider or the network
 * become a state of the delivery; rejects only when the database is unavailable.
 * @returns 'suspect' when nothing was done, because the delivery may be crashing workers
 */
export async function sendDelivery(
  deps: SendDeps,
  job: KnownDelivery,
  { redelivered, loaded, batch, mayBeSuspect = false }: AttemptOptions,
): Promise<'done' | 'suspect'> {
  const delivery = loaded ?? (await deps.ledger.load(job));
  if (!delivery || !isOpen(delivery, job)) return 'done';
  if (delivery.lost >= SUSPECT_AFTER && !mayBeSuspect) return 'suspect';
  await tracedDelivery(delivery, batch, (span) => attemptDelivery(deps, delivery, redelivered, span));
  return 'done';
}

async function attemptDelivery(
  deps: SendDeps,
  loaded: LoadedDelivery,
  redelivered: boolean,
  span: Span | undefined,
): Promise<void> {
  const { needsAccount } = deps.transport;
  const accounts =
    needsAccount && loaded.accounts ? openAccounts(deps.keyRing, loaded.tenantid, loaded.accounts) : [];
  const carrier = needsAccount ? (accounts[0]?.kind ?? 'sendgrid') : 'mailbox';
  const delivery = { ...loaded, beganAtMs: performance.now(), carrier, span };
  if (redelivered && !(await deps.ledger.countRedeliveredStart(delivery))) return;

  const obstacle = needsAccount ? findObstacle(delivery, accounts, deps.now()) : undefined;
  const prepared = obstacle ?? (await prepareWithRecord(deps, delivery));
  switch (prepared.kind) {
    case 'email':
      return sendEmail(deps, delivery, prepared.email, accounts);
    case 'paused':
      return pause(deps, delivery, false, null);
    default:
      return record(deps, delivery, decideWithoutEmail(prepared, termsOf(deps, delivery)), false);
  }
}

/** Large records are in memory only while the email is composed. */
function prepareWithRecord(deps: SendDeps, delivery: AttemptedDelivery): ReturnType<typeof prepareEmail> {
  const { tenantid, recordBytes } = delivery;
  if (recordBytes === 0) return prepareEmail(deps, delivery);
  return deps.records.run(tenantid, recordBytes, async () => {
    const record = (await deps.ledger.loadRecord(delivery)) ?? { eventid: null };
    return prepareEmail(deps, { ...delivery, ...record });
  });
}

/** A job is a hint: the delivery may have moved on since. */
function isOpen(delivery: LoadedDelivery, job: KnownDelivery): boolean {
  return delivery.starts === job.starts && (delivery.state === 'pending' || delivery.state === 'retrying');
}

function findObstacle(
  { accounts: stored }: LoadedDelivery,
  accounts: readonly Account[],
  nowMs: number,
): NoEmail | { readonly kind: 'paused' } | undefined {
  if (!stored || accounts.length === 0) {
    return {
      kind: 'failed',
      code: 'EMAIL_APIKEY_MISSING',
      message: 'the tenant has neither an email API key nor another transport',
    };
  }
  if (stored.pausedCode !== null) return { kind: 'paused' };
  if (stored.waitUntilMs === null) return undefined;
  return { kind: 'wait', waitMs: Math.max(0, stored.waitUntilMs - nowMs) };
}

/** From here on mail can leave: the start is committed first, and the outcome is recorded under its attempt number. */
async function sendEmail(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  email: Email,
  accounts: readonly Account[],
): Promise<void> {
  const { tenantid, deliveryid } = delivery;
  const attempt = delivery.starts + 1;
  const messageId = messageIdOf(deps.baseUrl, tenantid, deliveryid);
  const [route, mail] = await Promise.all([
    findRoute(deps, delivery, accounts),
    deps.keepsMail
      ? packMail(deps.keyRing, { tenantid, deliveryid, attempt }, toSentMail(email, messageId))
      : undefined,
  ]);
  const askedAtMs = performance.now();
  const started = await traced(delivery.span, 'record start', {}, () =>
    deps.ledger.start({
      ...delivery,
      recipients: email.recipients.map((address) => storable(formatAddress(address))),
      subject: email.subject,
      carrier: route.carrier,
      mail: mail?.toString('base64') ?? null,
    }),
  );
  if (!started) return;
  const mayStart = deps.claimed.begin(delivery, askedAtMs);
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
      mayStart,
    }),
  );
  deps.report.called(route.carrier, outcome, calledAtMs);
  await recordOutcome(deps, { ...delivery, starts: attempt, carrier: route.carrier }, outcome, route);
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
  const { carrier, next } = chooseCarrier(carriers, history, (each) =>
    deps.holds.isHeld(accountName(delivery, each)),
  );
  return {
    account: accounts.find(({ kind }) => kind === carrier),
    carrier: carrier ?? delivery.carrier,
    next,
    carriers,
    keySince: history.find(({ outcome, usedKey }) => outcome === 'redriven' || usedKey)?.attempt,
  };
}

async function recordOutcome(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  outcome: SendOutcome,
  { carriers, carrier, next }: Route,
): Promise<void> {
  if (outcome.kind === 'fenced') return;
  const isOnly = carriers.length <= 1;
  if (!isOnly) deps.holds.note(accountName(delivery, carrier), outcome);
  // While there is another carrier, one that sends nothing holds back neither the delivery nor its tenant.
  if (isOnly && outcome.kind === 'rate_limited') {
    await deps.ledger.holdTenant(delivery.tenantid, outcome.waitMs);
  }
  if (outcome.kind === 'tenant_paused' && next === undefined) {
    const isRefused = (each: string): boolean => deps.holds.isRefused(accountName(delivery, each));
    if (isOnly || carriers.every(isRefused)) return recordPaused(deps, delivery, outcome);
  }
  await record(deps, delivery, decide(outcome, { ...termsOf(deps, delivery), next }), true);
  await recordRefused(deps, delivery, outcome);
}

async function recordPaused(
  deps: SendDeps,
  delivery: AttemptedDelivery,
  { code, message, httpStatus }: Extract<SendOutcome, { kind: 'tenant_paused' }>,
): Promise<void> {
  const version = delivery.accounts?.version ?? 0;
  await deps.ledger.pauseTenant(delivery.tenantid, version, code, storable(message));
  await pause(deps, delivery, true, httpStatus);
  deps.report.ended(delivery, { state: 'paused', httpStatus, errorCode: code });
}

function pause(
  { ledger }: SendDeps,
  delivery: AttemptedDelivery,
  sending: boolean,
  httpStatus: number | null,
): Promise<void> {
  return ledger.pause({ ...knownDelivery(delivery), sending, httpStatus });
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
    ...knownDelivery(delivery),
    ...decision,
    error: decision.error === null ? null : storable(decision.error),
    nextAttemptMs: decision.nextAttemptMs === null ? null : Math.ceil(decision.nextAttemptMs),
    sending,
  };
  const recorded = await traced(delivery.span, 'record outcome', {}, () => deps.ledger.finish(finish));
  if (!recorded) return;
  // An attempt that ended before it was sent gets its number now.
  const starts = sending || finish.outcome === null ? delivery.starts : delivery.starts + 1;
  deps.report.ended({ ...delivery, starts }, finish);
  if (finish.nextAttemptMs === null) return;
  await queueForLater(deps, [{ ...knownDelivery(delivery), starts, delayMs: finish.nextAttemptMs }]);
}

function termsOf(deps: SendDeps, delivery: LoadedDelivery): RetryTerms {
  return { ...deps.retryTerms, attempts: delivery.attempts, policy: delivery.policy };
}

function accountName({ tenantid, accounts }: LoadedDelivery, carrier: string): AccountName {
  return { tenantid, version: accounts?.version ?? 0, carrier };
}
