import type { Clock } from '../clock.js';
import type { Config } from '../config.js';
import { decryptEmailApiKey } from '../db/control/emailApiKeys.js';
import type { Database } from '../db/database.js';
import { openLedger, type Ledger } from '../db/delivery/ledger.js';
import type { StoredApiKey } from '../db/delivery/loadDeliveries.js';
import type { PrincipalSource } from '../db/principal.js';
import { createTransport } from '../email/mail/createTransport.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import type { Logger } from '../log.js';
import type { BatchJob } from '../queue/jobs.js';
import type { Queue } from '../queue/queue.js';
import type { KeyRing } from '../secrets.js';
import type { Stoppable } from '../shutdown.js';
import type { TemplatePool } from '../templates/index.js';
import { createDeliveryLedger } from './deliveryLedger.js';
import { evaluateRules } from './evaluateRules.js';
import { createLeaseKeeper } from './leaseKeeper.js';
import { sendDelivery, type SendDeps } from './sendDelivery.js';

export interface WorkerDeps {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  readonly principals: PrincipalSource;
  readonly engine: Pick<DataEngine, 'runEmailQuery' | 'evaluateCondition'>;
  readonly templates: Pick<TemplatePool, 'render'>;
  readonly queue: Queue;
}

/** Takes batches and deliveries from the queue until stopped. Stopping finishes those in hand, within the grace. */
export function startWorker(deps: WorkerDeps): Promise<Stoppable> {
  const { config, log, queue } = deps;
  const ledger = openLedger(deps.database, (error) =>
    log.warn({ err: error }, 'an idle ledger connection broke'),
  );
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
    decryptApiKey: createKeyReader(deps.keyRing),
    retryTerms: {
      maxAttempts: config.maxAttempts,
      backoffBaseMs: config.backoffBaseMs,
      backoffCapMs: config.backoffCapMs,
      random: Math.random,
    },
    sendDeadlineMs: config.sendDeadlineMs,
  };
  const work = queue.work(
    {
      onBatch: (job) => evaluateBatch(deps, ledger, job),
      onDelivery: (job, repeated) => sendDelivery(sendDeps, job, repeated),
    },
    {
      concurrency: config.workerConcurrency,
      leaseMs: config.leaseMs,
      graceMs: config.graceMs * GRACE_FOR_JOBS,
    },
  );
  return Promise.resolve({
    async stop() {
      await work.stop();
      await leases.stop();
      await transport.close();
      await ledger.close();
    },
  });
}

/** Evaluates a batch and hands its deliveries on, in turns: the later in a long list, the lower their priority. */
async function evaluateBatch(deps: WorkerDeps, ledger: Ledger, job: BatchJob): Promise<void> {
  const deliveries = await evaluateRules({ ledger, engine: deps.engine }, job);
  const orders = deliveries.map((key, index) => ({
    job: { ...key, starts: 0 },
    delayMs: 0,
    ahead: job.ahead + index,
  }));
  if (orders.length === 0) return;
  // They are in the ledger: when the queue is away the reconciler adds them.
  await deps.queue.addDeliveries(orders).catch((error: unknown) => {
    deps.log.debug({ err: error }, 'deliveries could not be queued; the reconciler will');
  });
}

/** The rest of the grace is for closing connections. */
const GRACE_FOR_JOBS = 0.8;
const MOST_KEYS = 1_000;

/** Decrypting is cheap, but not for every mail. */
function createKeyReader(keyRing: KeyRing): (tenantid: number, key: StoredApiKey) => string {
  const known = new Map<string, string>();
  return (tenantid, key) => {
    const name = `${tenantid}:${key.encrypted}`;
    let apiKey = known.get(name);
    if (apiKey === undefined) {
      apiKey = decryptEmailApiKey(keyRing, tenantid, key.encrypted);
      if (known.size >= MOST_KEYS) known.clear();
      known.set(name, apiKey);
    }
    return apiKey;
  };
}
