import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.js';
import type { Config } from '../config.js';
import { decryptEmailApiKey } from '../db/delivery/emailApiKeys.js';
import type { Database } from '../db/connection/database.js';
import type { DeliveryKey } from '../db/delivery/batches.js';
import type { LoadedDelivery, StoredApiKey } from '../db/delivery/loadDeliveries.js';
import type { PrincipalSource } from '../db/principal.js';
import { createTransport } from '../email/mail/createTransport.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import type { Logger } from '../log.js';
import type { DeliveryJob } from '../queue/jobs.js';
import type { Queue } from '../queue/queue.js';
import type { KeyRing } from '../secrets.js';
import type { Stoppable } from '../shutdown.js';
import type { TemplatePool } from '../templates/index.js';
import { createDeliveryLedger } from './deliveryLedger.js';
import { ClaimedDeliveries } from './claimedDeliveries.js';
import { evaluateRules } from './evaluateRules.js';
import { FairSlots, type TenantShare } from './fairSlots.js';
import { createIdleMeter } from './idleMeter.js';
import { LoopTrips } from './loopTrips.js';
import { createLeaseKeeper } from './leaseKeeper.js';
import { sendDelivery, sendSuspect, type SendDeps } from './sendDelivery.js';
import { Suspects } from './suspects.js';

export interface WorkerDeps {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  readonly principals: PrincipalSource;
  readonly engine: Pick<
    DataEngine,
    'catalog' | 'runEmailQuery' | 'evaluateCondition' | 'findFiles' | 'fileLink'
  >;
  readonly templates: Pick<TemplatePool, 'render'>;
  readonly queue: Queue;
}

/** Processes batches and deliveries from the queue until stopped. Stopping drains work in flight, within the grace period. */
export function startWorker(deps: WorkerDeps): Promise<Stoppable> {
  const { config, log, queue } = deps;
  const { ledger } = deps.database;
  const leases = createLeaseKeeper(ledger, config.leaseMs, log);
  const transport = createTransport(config, deps.database);
  const sendDeps: SendDeps = {
    ledger: createDeliveryLedger(ledger, config.leaseMs, log),
    leases,
    transport,
    queue,
    engine: deps.engine,
    templates: deps.templates,
    principals: deps.principals,
    baseUrl: config.baseUrl,
    now: () => deps.clock.now(),
    log,
    decryptApiKey: createApiKeyReader(deps.keyRing),
    retryTerms: {
      maxAttempts: config.maxAttempts,
      backoffBaseMs: config.backoffBaseMs,
      backoffCapMs: config.backoffCapMs,
      random: Math.random,
    },
    sendDeadlineMs: config.sendDeadlineMs,
  };
  const slots = new FairSlots(config.workerConcurrency, createTenantShare(config.workerConcurrency));
  const suspects = new Suspects();
  const claimed = new ClaimedDeliveries(ledger, config.leaseMs, log);
  const send = async (
    job: DeliveryJob,
    redelivered: boolean,
    loaded: () => LoadedDelivery | undefined = () => undefined,
  ): Promise<void> => {
    await claimed.claim(job, async () => {
      const end = await slots.run(job.tenantid, () => sendDelivery(sendDeps, job, redelivered, loaded()));
      if (end === 'suspect') await suspects.run(job.tenantid, () => sendSuspect(sendDeps, job, redelivered));
      return end === undefined ? 'dropped' : 'done';
    });
  };
  const limits = {
    firesPerMinute: config.ruleFiresPerMinute,
    emailsPerSecond: config.tenantEmailsPerSecond,
  };
  const loopTrips = new LoopTrips(log);
  const work = queue.work(
    {
      async onBatch(job, redelivered) {
        const evaluateDeps = { ledger, engine: deps.engine, limits, log };
        const { ready, soon, trips } = await evaluateRules(evaluateDeps, job, redelivered);
        const closedMs = performance.now();
        const isFresh = (): boolean => performance.now() - closedMs < FRESH_MS;
        loopTrips.report(job.tenantid, trips);
        await queueForLater(deps, soon);
        await settleAll(
          ready.map(({ loaded, ...key }) =>
            send({ ...key, starts: 0 }, false, () => (isFresh() ? loaded : undefined)),
          ),
        );
      },
      onDelivery: (job, redelivered) => send(job, redelivered),
    },
    {
      concurrency: config.workerConcurrency,
      leaseMs: config.leaseMs,
      graceMs: config.graceMs * GRACE_FOR_JOBS,
    },
  );
  return Promise.resolve({
    async stop() {
      // Waiting deliveries are in the ledger: the reconciler queues them again.
      slots.close();
      suspects.close();
      await work.stop();
      await claimed.stop();
      await leases.stop();
      await transport.close();
    },
  });
}

/** Queues deliveries whose rate limit slot is moments away. */
async function queueForLater(
  { queue, log }: WorkerDeps,
  deliveries: readonly (DeliveryKey & { readonly delayMs: number })[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const orders = deliveries.map(({ delayMs, ...key }) => ({ job: { ...key, starts: 0 }, delayMs, ahead: 0 }));
  // If the queue is unavailable, the reconciler adds them from the ledger.
  await queue.addDeliveries(orders).catch((error: unknown) => {
    log.debug({ err: error }, 'deliveries could not be queued; the reconciler will');
  });
}

/** Waits for all, even if one fails. Rejects with the first reason. */
async function settleAll(all: readonly Promise<void>[]): Promise<void> {
  const broken = (await Promise.allSettled(all)).find((result) => result.status === 'rejected');
  if (broken) throw broken.reason;
}

/**
 * A tenant may hold half of a worker's slots. While other tenants have work, its share shrinks as the process gets busier:
 * then their mails wait for the event loop rather than for slots. A process that mostly waits for a provider or slow
 * queries gains nothing from holding a tenant back.
 */
function createTenantShare(slots: number): TenantShare {
  const alone = Math.ceil(slots / 2);
  const minShare = Math.ceil(slots / 32);
  const idle = createIdleMeter();
  return {
    alone,
    contended: () => Math.max(minShare, Math.round(alone * Math.min(1, idle() / IDLE_ENOUGH) ** 2)),
  };
}

/** Idle ratio above which the share is not reduced. */
const IDLE_ENOUGH = 0.7;
/** Fraction of the grace period for jobs; the rest is for closing connections. */
const GRACE_FOR_JOBS = 0.8;
/** A delivery that waited longer for a slot is reloaded: its tenant may have been paused meanwhile. */
const FRESH_MS = 100;
const MAX_CACHED_KEYS = 1_000;

/** Caches decrypted keys: decrypting is cheap, but not per mail. */
function createApiKeyReader(keyRing: KeyRing): (tenantid: number, key: StoredApiKey) => string {
  const known = new LRUCache<string, string>({ max: MAX_CACHED_KEYS });
  return (tenantid, key) => {
    const name = `${tenantid}:${key.encrypted}`;
    const apiKey = known.get(name) ?? decryptEmailApiKey(keyRing, tenantid, key.encrypted);
    known.set(name, apiKey);
    return apiKey;
  };
}
