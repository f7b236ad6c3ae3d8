import { setTimeout as delay } from 'node:timers/promises';
import type { DeliveryKey } from '../db/delivery/batches.js';
import { loadEmailType, type EmailType } from '../db/delivery/emailTypes.js';
import { finishAttempts, type AttemptFinish } from '../db/delivery/finishAttempts.js';
import { countRepeatedStart } from '../db/delivery/leases.js';
import type { Ledger } from '../db/connection/ledger.js';
import { loadDeliveries, type LoadedDelivery } from '../db/delivery/loadDeliveries.js';
import { holdTenant, pauseDeliveries, pauseTenant, type PausedDelivery } from '../db/delivery/pause.js';
import { startSending, type SendingStart } from '../db/delivery/startSending.js';
import { findSuppressed, type AddressesOfTenant } from '../db/delivery/suppressions.js';
import type { Logger } from '../log.js';
import { batched } from './batching.js';

/** The ledger as one delivery sees it. What many deliveries ask at the same time goes in one statement. */
export interface DeliveryLedger {
  load(key: DeliveryKey): Promise<LoadedDelivery | undefined>;
  /** The type as it is now; remembered for as long as its version is that of the delivery. */
  loadType(delivery: LoadedDelivery): Promise<EmailType | undefined>;
  /** See `countRepeatedStart`. */
  countRepeatedStart(delivery: LoadedDelivery): Promise<boolean>;
  /** See `findSuppressed`. */
  findSuppressed(request: AddressesOfTenant): Promise<ReadonlyMap<string, string>>;
  /** Whether the caller may call the provider. */
  start(start: SendingStart): Promise<boolean>;
  /** Records an end; tries for a while when the database is away, because nobody else knows it. */
  finish(finish: AttemptFinish): Promise<boolean>;
  pause(delivery: PausedDelivery): Promise<void>;
  pauseTenant(tenantid: number, keyVersion: number, code: string, reason: string): Promise<void>;
  holdTenant(tenantid: number, waitMs: number): Promise<void>;
}

/** Most deliveries in one statement. */
const MAX_AT_ONCE = 200;
const MAX_TYPES = 500;
/** How long an end that can't be recorded is kept in hand. After that it counts as unknown. */
const FINISH_PATIENCE_MS = 30_000;
const FINISH_RETRY_MS = 200;

export function createDeliveryLedger(ledger: Ledger, leaseMs: number, log: Logger): DeliveryLedger {
  const types = new Map<string, Promise<(EmailType & { version: string }) | undefined>>();
  const finishOnce = batched(
    (finishes: readonly AttemptFinish[]) => finishAttempts(ledger, finishes),
    MAX_AT_ONCE,
  );
  const pauseOnce = batched(async (deliveries: readonly PausedDelivery[]) => {
    await pauseDeliveries(ledger, deliveries);
    return deliveries.map(() => undefined);
  }, MAX_AT_ONCE);

  const loadType = async (delivery: LoadedDelivery): Promise<EmailType | undefined> => {
    const key = `${delivery.tenantid}:${delivery.typeVersion ?? ''}:${delivery.emailType}`;
    const known = types.get(key);
    if (known) return known;
    if (types.size >= MAX_TYPES) types.clear();
    const loading = loadEmailType(ledger, delivery.tenantid, delivery.emailType);
    types.set(key, loading);
    // Changed or failed meanwhile: not to be remembered under the version that was asked for.
    loading.then(
      (type) => {
        if (type?.version !== delivery.typeVersion) types.delete(key);
      },
      () => types.delete(key),
    );
    return loading;
  };

  return {
    load: batched((keys: readonly DeliveryKey[]) => loadDeliveries(ledger, keys), MAX_AT_ONCE),
    loadType,
    findSuppressed: batched(
      (requests: readonly AddressesOfTenant[]) => findSuppressed(ledger, requests),
      MAX_AT_ONCE,
    ),
    countRepeatedStart: (delivery) => countRepeatedStart(ledger, delivery),
    start: batched((starts: readonly SendingStart[]) => startSending(ledger, starts, leaseMs), MAX_AT_ONCE),
    finish: (finish) => withPatience(log, () => finishOnce(finish)),
    pause: (delivery) => withPatience(log, () => pauseOnce(delivery)),
    pauseTenant: (...args) => pauseTenant(ledger, ...args),
    holdTenant: (...args) => holdTenant(ledger, ...args),
  };
}

async function withPatience<T>(log: Logger, run: () => Promise<T>): Promise<T> {
  const until = performance.now() + FINISH_PATIENCE_MS;
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      if (performance.now() >= until) throw error;
      if (tries === 1) log.warn({ err: error }, 'the end of an attempt could not be recorded; trying on');
      await delay(FINISH_RETRY_MS);
    }
  }
}
