import { knownDelivery } from '../db/ledger/deliveryKey.js';
import type { LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import { formatAddress } from '../email/addresses.js';
import type { Email, Intended } from '../email/email.js';
import type { Account } from '../email/carriers/account.js';
import { openAccounts } from '../email/carriers/openAccounts.js';
import { messageIdOf } from '../email/message/messageId.js';
import { packEmail, toSentEmail } from '../email/sentEmail.js';
import { toPostgresText } from '../foundation/postgresText.js';
import { isBusy } from '../email/transientErrors.js';
import { AppError } from '../foundation/errors.js';
import { traced, type Span } from '../foundation/observability/tracing/tracing.js';
import type { AttemptedDelivery } from './attemptReport.js';
import { callCarrier, type StartedCall } from './callCarrier.js';
import type { DeliverDeps } from './deliverDeps.js';
import { tracedDelivery } from './deliverySpan.js';
import { findRoute, type Route } from './findRoute.js';
import { prepareEmail } from './prepareEmail.js';
import { recordInvalid, recordNotSent, recordOutcome, type NotSent } from './recordOutcome.js';

/** An attempt whose start is recorded: from here on the email can leave. */
interface Started extends StartedCall {
  readonly kind: 'started';
}

interface AttemptOptions {
  /** Whether an earlier worker started the same job and died. */
  readonly redelivered: boolean;
  /** The span of the batch that it has just been recorded for. */
  readonly batch?: Span | undefined;
  /** Called when the email waits for a call that it shares with others. */
  readonly onWait?: () => void;
}

/**
 * One attempt: email → route → recorded start → carrier → recorded outcome. Whatever fails becomes the outcome, as docs/reference/email.md says;
 * rejects only if the outcome can't be recorded, because the database is unavailable.
 */
export function attempt(
  deps: DeliverDeps,
  loaded: LoadedDelivery,
  { redelivered, batch, onWait }: AttemptOptions,
): Promise<void> {
  return tracedDelivery(loaded, batch, async (span) => {
    const accounts = accountsOf(deps, loaded);
    const delivery = beginAttempt(deps, loaded, accounts, span);
    const started = await start(deps, delivery, accounts, redelivered).catch((error: unknown) =>
      unexpected(deps, delivery, error),
    );
    if (started === undefined) return;
    if (started.kind !== 'started') return recordNotSent(deps, delivery, started);
    const { route } = started;
    const outcome = await callCarrier(deps, delivery, { onWait, ...started });
    const ended = { ...delivery, starts: delivery.starts + 1, carrier: route.carrier };
    await recordOutcome(deps, ended, outcome, route);
  });
}

/** @returns why nothing is sent; undefined if the delivery is poison, or another worker has it */
async function start(
  deps: DeliverDeps,
  delivery: AttemptedDelivery,
  accounts: readonly Account[] | undefined,
  redelivered: boolean,
): Promise<Started | NotSent | undefined> {
  if (redelivered && !(await deps.ledger.countRedeliveredStart(delivery))) return undefined;
  const obstacle = findObstacle(deps, delivery, accounts);
  // One that passes is not worth composing an email for.
  if (obstacle && obstacle.kind !== 'failed') return obstacle;
  const prepared = await prepareEmail(deps, delivery);
  if (obstacle) return { ...obstacle, intended: prepared.intended };
  if (prepared.kind !== 'email') return prepared;
  const { email, intended } = prepared;
  const [route, kept] = await Promise.all([
    findRoute(deps, delivery, accounts ?? []),
    packSentEmail(deps, delivery, email),
    recordInvalid(deps, delivery, email),
  ]);
  const requestedAtMs = await recordStart(deps, delivery, email, intended, route, kept);
  return requestedAtMs === undefined ? undefined : { kind: 'started', email, route, requestedAtMs };
}

/** Counted as an attempt, so that retries end. Does nothing if the start was recorded after all: then its lease expires. */
function unexpected({ log }: DeliverDeps, { deliveryid }: LoadedDelivery, error: unknown): NotSent {
  log.error({ err: error, deliveryid }, 'an attempt failed before its email was sent');
  const code = error instanceof AppError && isBusy(error) ? error.code : 'INTERNAL_ERROR';
  return { kind: 'retry', code, message: 'the attempt failed before the email was sent' };
}

/** @returns undefined if they can't be decrypted */
function accountsOf(
  { carriers, keyRing, log }: DeliverDeps,
  { tenantid, deliveryid, accounts }: LoadedDelivery,
): readonly Account[] | undefined {
  if (!carriers.needsAccount || !accounts) return [];
  try {
    return openAccounts(keyRing, tenantid, accounts);
  } catch (error) {
    log.error({ err: error, deliveryid, tenantid }, 'the accounts of a tenant could not be decrypted');
    return undefined;
  }
}

function beginAttempt(
  { carriers, baseUrl }: DeliverDeps,
  loaded: LoadedDelivery,
  accounts: readonly Account[] = [],
  span: Span | undefined,
): AttemptedDelivery {
  const carrier = carriers.needsAccount ? (accounts[0]?.kind ?? 'sendgrid') : 'mailbox';
  const messageId = messageIdOf(baseUrl, loaded.tenantid, loaded.deliveryid);
  return { startedAtMs: performance.now(), carrier, messageId, span, ...loaded };
}

function findObstacle(
  { carriers, now }: DeliverDeps,
  { accounts: stored }: LoadedDelivery,
  accounts: readonly Account[] | undefined,
): NotSent | undefined {
  if (!carriers.needsAccount) return undefined;
  if (accounts === undefined) {
    return { kind: 'retry', code: 'INTERNAL_ERROR', message: "the tenant's accounts could not be decrypted" };
  }
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

/** @returns when the lease was requested; undefined if another worker has the delivery */
function recordStart(
  { ledger }: DeliverDeps,
  delivery: AttemptedDelivery,
  email: Email,
  intended: Intended | undefined,
  { carrier }: Route,
  kept: Buffer | undefined,
): Promise<number | undefined> {
  const recipients = email.recipients.map((address) => toPostgresText(formatAddress(address)));
  return traced(delivery.span, 'record start', {}, () =>
    ledger.start({
      recipients,
      intended: isSame(intended?.recipients, recipients) ? undefined : intended?.recipients,
      subject: email.subject,
      carrier,
      email: kept?.toString('base64') ?? null,
      tracked: delivery.tracked,
      ...knownDelivery(delivery),
    }),
  );
}

function isSame(one: readonly string[] | undefined, other: readonly string[]): boolean {
  return one?.length === other.length && one.every((text, index) => text === other[index]);
}
