import type { Clock } from '../clock.js';
import type { Config } from '../config.js';
import type { Database } from '../db/database.js';
import { openLedger, type Ledger } from '../db/delivery/ledger.js';
import type { StoredApiKey } from '../db/delivery/loadDeliveries.js';
import type { PrincipalSource } from '../db/principal.js';
import type { Logger } from '../log.js';
import type { BatchJob } from '../queue/jobs.js';
import type { Queue } from '../queue/queue.js';
import type { KeyRing } from '../secrets.js';
import type { Stoppable } from '../shutdown.js';
import { createDeliveryLedger } from './deliveryLedger.js';
import type { EmailEngine } from './emailEngine.js';
import { evaluateRules } from './evaluateRules.js';
import { createLeaseKeeper } from './leaseKeeper.js';
import { createMailboxTransport } from './mail/mailbox.js';
import { createSendgridTransport } from './mail/sendgrid.js';
import type { MailTransport } from './mail/transport.js';
import type { Renderer } from './renderer.js';
import { sendDelivery, type SendDeps } from './sendDelivery.js';

export interface WorkerDeps {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  readonly principals: PrincipalSource;
  readonly engine: EmailEngine;
  readonly templates: Renderer;
  readonly queue: Queue;
}

/** Takes batches and deliveries from the queue until stopped. Stopping finishes those in hand, within the grace. */
export function startWorker(deps: WorkerDeps): Promise<Stoppable> {
  const { config, log, queue } = deps;
  const ledger = openLedger(deps.database, (error) =>
    log.warn({ err: error }, 'an idle ledger connection broke'),
  );
  const leases = createLeaseKeeper(ledger, config.leaseMs, log);
  const transport = createTransport(config, ledger);
  const sendDeps: SendDeps = {
    ledger: createDeliveryLedger(ledger, config.leaseMs, log),
    leases,
    transport,
    queue,
    engine: deps.engine,
    renderer: deps.templates,
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

function createTransport(config: Config, ledger: Ledger): MailTransport {
  return config.mailTransport === 'mailbox'
    ? createMailboxTransport(ledger)
    : createSendgridTransport({ baseUrl: config.sendgridBaseUrl });
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
      apiKey = keyRing.decrypt(key.encrypted, `email_apikey:${tenantid}`);
      if (known.size >= MOST_KEYS) known.clear();
      known.set(name, apiKey);
    }
    return apiKey;
  };
}
