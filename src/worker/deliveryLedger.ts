import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { readAttempts } from '../db/ledger/attemptHistory.js';
import type { DeliveryKey } from '../db/ledger/deliveryKey.js';
import { loadEmailType, loadEmailVariant, type EmailType } from '../db/email/emailTypes.js';
import { finishAttempts, withoutTexts, type AttemptFinish } from '../db/ledger/finishAttempts.js';
import { countRedeliveredStart } from '../db/ledger/lostAttempts.js';
import type { Ledger } from '../db/pool/ledgerPool.js';
import { loadDeliveries, loadRecord, type LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import { recordEmailEvents, type EmailEvent } from '../db/email/emailEvents.js';
import { holdTenant, pauseDeliveries, pauseTenant, type PausedDelivery } from '../db/ledger/pause.js';
import { startSending, type SendingStart } from '../db/ledger/startSending.js';
import { findSuppressed } from '../db/email/suppressions.js';
import { isRefusedStatement } from '../db/sql/refusedStatement.js';
import { isServerError } from '../db/sql/sqlState.js';
import { toAppError } from '../db/sql/toAppError.js';
import { FairCache } from '../foundation/limits/fairCache.js';
import type { Logger } from '../foundation/observability/log.js';
import { cacheLookups } from '../foundation/observability/metrics.js';
import { batchCalls } from '../foundation/limits/batchCalls.js';

export type DeliveryLedger = ReturnType<typeof createDeliveryLedger>;

/** Maximum deliveries per statement. */
const MAX_BATCH_SIZE = 200;
/** An email to more has a line of its own, with one in each statement: thousands take as long as all others together. */
const FEW_ADDRESSES = 100;
/** Of a kept email, or of other texts, which count as one address. */
const CHARACTERS_PER_ADDRESS = 1_000;
/** Size of the cache of email types with their layouts, in characters. */
const TYPE_CHARACTERS = 40_000_000;
/** Of one that is being loaded. */
const EXPECTED_CHARACTERS = 10_000;
/** How long to retry recording the start of an attempt, or its outcome. After that a started attempt counts as lost. */
const RETRY_FOR_MS = 30_000;
const RETRY_MS = 200;

/** The ledger from a single delivery's point of view. Concurrent calls are coalesced into one statement. */
export function createDeliveryLedger(given: Ledger, leaseMs: number, log: Logger) {
  const ledger = withAppErrors(given);
  const cachedTypes = new FairCache<ReturnType<typeof loadEmailType>>(TYPE_CHARACTERS);
  /** @param textsOf what is long if a tenant wants it to be: a statement has no more of it than of as many short ones */
  const together = <Item, Result>(
    run: (to: Ledger, items: readonly Item[]) => Promise<readonly Result[]>,
    textsOf: (item: Item) => readonly (string | null)[] = () => [],
  ): ((item: Item) => Promise<Result>) =>
    batchCalls(
      (items: readonly Item[]) => run(ledger, items),
      MAX_BATCH_SIZE,
      (item) => Math.max(1, sizeOfTexts(textsOf(item))),
    );
  /** Large ones wait for each other, and nothing waits for them. */
  const bySize = <Item, Result>(
    run: (to: Ledger, items: readonly Item[]) => Promise<readonly Result[]>,
    sizeOf: (item: Item) => number,
    textsOf?: (item: Item) => readonly (string | null)[],
  ): ((item: Item) => Promise<Result>) => {
    const small = together(run, textsOf);
    const large = batchCalls((items: readonly Item[]) => run(ledger, items), 1);
    return (item) => (sizeOf(item) > FEW_ADDRESSES ? large(item) : small(item));
  };
  const startOnce = bySize(
    (to, starts: readonly SendingStart[]) => startSending(to, starts, leaseMs),
    (start) => start.recipients.length + sizeOfTexts([start.email, ...textsOfStart(start)]),
    textsOfStart,
  );
  const finishOnce = together(finishAttempts, ({ intended, subject, error }) => [
    ...(intended ?? []),
    subject ?? null,
    error,
  ]);
  const pauseOnce = together(async (to, deliveries: readonly PausedDelivery[]) => {
    await pauseDeliveries(to, deliveries);
    return deliveries.map(() => undefined);
  });

  const loadType = async (delivery: LoadedDelivery): Promise<EmailType | undefined> => {
    const key = `${delivery.tenantid}:${delivery.typeVersion ?? ''}:${delivery.emailType}`;
    const known = cachedTypes.get(key);
    cacheLookups.email_types[known ? 'hit' : 'miss'] += 1;
    if (known) return known;
    const loading = loadEmailType(ledger, delivery.tenantid, delivery.emailType);
    const owner = String(delivery.tenantid);
    cachedTypes.set(key, loading, EXPECTED_CHARACTERS, owner);
    // Changed or failed meanwhile: must not be cached under the requested version.
    loading.then(
      (type) => {
        if (type?.version !== delivery.typeVersion) cachedTypes.delete(key);
        else cachedTypes.set(key, loading, JSON.stringify(type).length, owner);
      },
      () => cachedTypes.delete(key),
    );
    return loading;
  };

  return {
    load: together(loadDeliveries),
    /** Of a delivery with `recordBytes`. */
    loadRecord: (delivery: LoadedDelivery) => loadRecord(ledger, delivery),
    /** The current email type, cached by version. */
    loadType,
    loadVariant: (tenantid: number, names: readonly string[]) => loadEmailVariant(ledger, tenantid, names),
    findSuppressed: bySize(findSuppressed, ({ addresses }) => addresses.length),
    countRedeliveredStart: (delivery: LoadedDelivery) => countRedeliveredStart(ledger, delivery),
    /** @returns `performance.now()` from before the lease was requested; undefined if the caller must not call the carrier */
    start: (start: Omit<SendingStart, 'startId'>) => {
      const mine = { startId: randomUUID(), ...start };
      return withRetries(log, 'start', async () => {
        const requestedAtMs = performance.now();
        return (await startOnce(mine)) ? requestedAtMs : undefined;
      });
    },
    /** Newest first. */
    readAttempts: (delivery: DeliveryKey) => readAttempts(ledger, delivery),
    // With retries during a database outage, because only this process knows what it started, and how that ended.
    recordEvents: (tenantid: number, events: readonly EmailEvent[]) =>
      withRetries(log, 'outcome', () => recordEmailEvents(ledger, tenantid, events, null)),
    finish: (finish: AttemptFinish) =>
      withRetries(log, 'outcome', () => finishOnce(finish)).catch((error: unknown) => {
        // Unrecorded, it would be attempted again, to the same end.
        if (!isServerError(toAppError(error).cause)) throw error;
        const { tenantid, deliveryid, error: reason } = finish;
        log.error({ err: error, tenantid, deliveryid, reason }, 'an outcome is recorded without its texts');
        return finishOnce(withoutTexts(finish));
      }),
    pause: (delivery: PausedDelivery) => withRetries(log, 'outcome', () => pauseOnce(delivery)),
    pauseTenant: (tenantid: number, keyVersion: number, code: string, reason: string) =>
      withRetries(log, 'outcome', () => pauseTenant(ledger, tenantid, keyVersion, code, reason)),
    holdTenant: (tenantid: number, waitMs: number) =>
      withRetries(log, 'outcome', () => holdTenant(ledger, tenantid, waitMs)),
  };
}

/** In addresses. */
const sizeOfTexts = (texts: readonly (string | null)[]): number =>
  texts.reduce((sum, text) => sum + (text?.length ?? 0), 0) / CHARACTERS_PER_ADDRESS;

const textsOfStart = ({ recipients, intended = [], subject }: SendingStart): readonly string[] => [
  ...recipients,
  ...intended,
  subject,
];

async function withRetries<T>(log: Logger, what: 'start' | 'outcome', run: () => Promise<T>): Promise<T> {
  const until = performance.now() + RETRY_FOR_MS;
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      if (isRefusedStatement(toAppError(error)) || performance.now() >= until) throw error;
      if (tries === 1) log.warn({ err: error }, `the ${what} of an attempt could not be recorded; retrying`);
      await delay(RETRY_MS);
    }
  }
}

/** Tells an outage of the database from a bug. */
function withAppErrors(ledger: Ledger): Ledger {
  const rethrow = (error: unknown): never => {
    throw toAppError(error);
  };
  return {
    query: (statement, values) => ledger.query<never>(statement, values).catch(rethrow),
    transaction: (steps) => ledger.transaction(steps).catch(rethrow),
  };
}
