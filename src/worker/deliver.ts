import type { KnownDelivery } from '../db/ledger/deliveryKey.js';
import type { ReadyDelivery } from '../db/ledger/closeBatch.js';
import type { LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import { formatAddress } from '../email/addresses.js';
import type { Email } from '../email/email.js';
import type { Account } from '../email/carriers/account.js';
import { openAccounts } from '../email/carriers/openAccounts.js';
import type { SendOutcome } from '../email/carriers/sending.js';
import { idempotencyKeyOf, messageIdOf } from '../email/message/messageId.js';
import { packEmail, toSentEmail } from '../email/sentEmail.js';
import { toPostgresText } from '../email/postgresText.js';
import { traced, type Span } from '../foundation/observability/tracing/tracing.js';
import type { AttemptedDelivery } from './attemptReport.js';
import type { DeliverDeps } from './deliverDeps.js';
import { tracedDelivery, tracedSend } from './deliverySpan.js';
import { findRoute, type Route } from './findRoute.js';
import { prepareEmail } from './prepareEmail.js';
import { recordInvalid, recordNotSent, recordOutcome, type NotSent } from './recordOutcome.js';

/** A delivery that waited longer for a slot is reloaded: its tenant may have been paused meanwhile, and its record takes memory. */
const FRESH_MS = 100;
/** Consecutive attempts ended by a crash that make a delivery a suspect. */
const SUSPECT_AFTER = 2;

/**
 * A delivery in a worker: claim → slot → load → attempt. A suspect gives its slot up and waits for the other suspects instead.
 * @param redelivered whether an earlier worker started the same job and died
 * @param batch the span of the batch that it has just been recorded for
 */
export async function deliver(
  deps: DeliverDeps,
  { loaded, ...job }: ReadyDelivery,
  redelivered: boolean,
  batch?: Span,
): Promise<void> {
  const { claimed, slots, suspects } = deps;
  await claimed.claim(job, async () => {
    const forget = loaded && setTimeout(() => (loaded = undefined), FRESH_MS);
    const end = await slots.run(job.tenantid, async () => {
      clearTimeout(forget);
      const delivery = await loadOpen(deps, job, loaded);
      if (delivery && delivery.lost >= SUSPECT_AFTER) return 'suspect';
      if (delivery) await attempt(deps, delivery, redelivered, batch);
      return 'done';
    });
    if (end === 'suspect') {
      await suspects.run(job.tenantid, async () => {
        const delivery = await loadOpen(deps, job);
        if (delivery) await attempt(deps, delivery, redelivered);
      });
    }
    return end === undefined ? 'dropped' : 'done';
  });
}

/**
 * One attempt: email → route → recorded start → carrier → recorded outcome. Failures of the tenant, the carrier or the network
 * become a state of the delivery; rejects only when the database is unavailable.
 */
function attempt(
  deps: DeliverDeps,
  loaded: LoadedDelivery,
  redelivered: boolean,
  batch?: Span,
): Promise<void> {
  return tracedDelivery(loaded, batch, async (span) => {
    const accounts = accountsOf(deps, loaded);
    const delivery = beginAttempt(deps, loaded, accounts, span);
    if (redelivered && !(await deps.ledger.countRedeliveredStart(delivery))) return;

    const prepared = findObstacle(deps, delivery, accounts) ?? (await prepareEmail(deps, delivery));
    if (prepared.kind !== 'email') return recordNotSent(deps, delivery, prepared);
    const { email } = prepared;
    const [route, kept] = await Promise.all([
      findRoute(deps, delivery, accounts),
      packSentEmail(deps, delivery, email),
      recordInvalid(deps, delivery, email),
    ]);
    // From here on the email can leave: the start is committed first, and the outcome is recorded under its attempt number.
    const mayStart = await recordStart(deps, delivery, email, route, kept);
    if (!mayStart) return;
    const outcome = await callCarrier(deps, delivery, email, route, mayStart);
    const started = { ...delivery, starts: delivery.starts + 1, carrier: route.carrier };
    await recordOutcome(deps, started, outcome, route);
  });
}

/**
 * The delivery, unless it has moved on since: a job is a hint.
 * @param recent a recent copy: if it is stale, the start is refused
 */
async function loadOpen(
  { ledger }: DeliverDeps,
  job: KnownDelivery,
  recent?: LoadedDelivery,
): Promise<LoadedDelivery | undefined> {
  const delivery = recent ?? (await ledger.load(job));
  if (delivery?.starts !== job.starts) return undefined;
  return delivery.state === 'pending' || delivery.state === 'retrying' ? delivery : undefined;
}

function accountsOf({ carriers, keyRing }: DeliverDeps, delivery: LoadedDelivery): readonly Account[] {
  if (!carriers.needsAccount || !delivery.accounts) return [];
  return openAccounts(keyRing, delivery.tenantid, delivery.accounts);
}

function beginAttempt(
  { carriers, baseUrl }: DeliverDeps,
  loaded: LoadedDelivery,
  accounts: readonly Account[],
  span: Span | undefined,
): AttemptedDelivery {
  const carrier = carriers.needsAccount ? (accounts[0]?.kind ?? 'sendgrid') : 'mailbox';
  const messageId = messageIdOf(baseUrl, loaded.tenantid, loaded.deliveryid);
  return { ...loaded, startedAtMs: performance.now(), carrier, messageId, span };
}

function findObstacle(
  { carriers, now }: DeliverDeps,
  { accounts: stored }: LoadedDelivery,
  accounts: readonly Account[],
): NotSent | undefined {
  if (!carriers.needsAccount) return undefined;
  if (!stored || accounts.length === 0) {
    return {
      kind: 'failed',
      code: 'EMAIL_APIKEY_MISSING',
      message: 'the tenant has neither an email API key nor another account',
    };
  }
  if (stored.pausedCode !== null) return { kind: 'paused' };
  if (stored.waitUntilMs === null) return undefined;
  return { kind: 'wait', waitMs: Math.max(0, stored.waitUntilMs - now()) };
}

/** The email as it is kept. */
async function packSentEmail(
  { keepsEmail, keyRing }: DeliverDeps,
  delivery: AttemptedDelivery,
  email: Email,
): Promise<Buffer | undefined> {
  if (!keepsEmail) return undefined;
  const { tenantid, deliveryid, messageId, starts } = delivery;
  const key = { tenantid, deliveryid, attempt: starts + 1 };
  return packEmail(keyRing, key, toSentEmail(email, messageId));
}

/** @returns whether the lease that comes with the start is certain to be still ours; undefined if another worker has the delivery */
async function recordStart(
  { ledger, claimed }: DeliverDeps,
  delivery: AttemptedDelivery,
  email: Email,
  { carrier }: Route,
  kept: Buffer | undefined,
): Promise<(() => boolean) | undefined> {
  const requestedAtMs = performance.now();
  const started = await traced(delivery.span, 'record start', {}, () =>
    ledger.start({
      ...delivery,
      recipients: email.recipients.map((address) => toPostgresText(formatAddress(address))),
      subject: email.subject,
      carrier,
      email: kept?.toString('base64') ?? null,
    }),
  );
  return started ? claimed.begin(delivery, requestedAtMs) : undefined;
}

async function callCarrier(
  { carriers, sendDeadlineMs, report }: DeliverDeps,
  { tenantid, deliveryid, messageId, span: parent }: AttemptedDelivery,
  email: Email,
  { carrier, account, keySince }: Route,
  mayStart: () => boolean,
): Promise<SendOutcome> {
  const idempotencyKey = idempotencyKeyOf(messageId, keySince);
  const message = { ...email, tenantid, deliveryid, messageId, idempotencyKey };
  const calledAtMs = performance.now();
  const outcome = await tracedSend(parent, carrier, (span) =>
    carriers.send(message, { span, account, deadlineMs: sendDeadlineMs, mayStart }),
  );
  report.called(carrier, outcome, calledAtMs);
  return outcome;
}
