import type { Clock } from '../clock.js';
import type { Config } from '../config.js';
import { ServerShare } from '../db/connection/serverShare.js';
import { doneBatches } from '../db/delivery/batches.js';
import type { Database } from '../db/connection/database.js';
import { countInFlight } from '../db/delivery/openDeliveries.js';
import { adoptRestoredOutbox } from '../db/delivery/restoredDump.js';
import { tick } from '../db/delivery/tick.js';
import { openStorage } from '../files/storage/openStorage.js';
import { listenForWakeups } from '../db/connection/wakeup.js';
import type { Logger } from '../log.js';
import type { Queue } from '../queue/queue.js';
import { stopAll, type Stoppable } from '../shutdown.js';
import { Admission } from './admission.js';
import { startLoop } from './loop.js';
import { publish } from './publish.js';
import { Reconciler } from './reconcile.js';
import { keepPartitions } from './retention.js';
import { FileSweeper } from './sweepFiles.js';

export interface RelayDeps {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly queue: Queue;
}

/** A tick takes so many batches' worth of events at most. */
const BATCHES_PER_TICK = 20;
/** How often the ledger is asked what each tenant has in hand, while there is anything to admit. */
const ADMIT_MS = 200;
const MAINTENANCE_MS = 10 * 60_000;
/** Nobody writes while a tenant's session holds all locks. */
const SHARES_MS = 250;

/**
 * Carries committed events from the outbox to the queue, and open work back to it when it was lost. Any number of
 * relays may run: one ticks at a time, and all else is done twice without harm.
 */
export function startRelay(deps: RelayDeps): Promise<Stoppable> {
  const { config, log, queue } = deps;
  const { ledger } = deps.database;
  const admission = new Admission(config.tenantInFlight);
  const reconciler = new Reconciler({ ledger, queue, admission, maxAttempts: config.maxAttempts });
  const limits = { batchEvents: config.relayBatch, tickEvents: config.relayBatch * BATCHES_PER_TICK };

  const readOutbox = async (): Promise<void> => {
    for (;;) {
      const { batches, more, restored } = await tick(ledger, limits);
      if (restored) await adoptRestoredOutbox(ledger, limits.batchEvents);
      await publish(queue, admission, admission.offer(batches));
      if (!more) return;
    }
  };
  const admitMore = async (): Promise<void> => {
    if (admission.isIdle) return;
    const [deliveries, done] = await Promise.all([
      countInFlight(ledger),
      doneBatches(ledger, admission.admittedIds),
    ]);
    await publish(queue, admission, admission.recount(deliveries, done));
  };

  const loop = (name: string, everyMs: number, step: () => Promise<void>) =>
    startLoop(step, { name, everyMs, log });
  const maintenance = loop('maintenance', MAINTENANCE_MS, () =>
    keepPartitions({ ledger, clock: deps.clock, log }, config.retentionDays),
  );
  const outbox = loop('reading the outbox', config.relayPollMs, readOutbox);
  const admit = loop('admitting batches', ADMIT_MS, admitMore);
  // How long what a lost process had in hand stands still is the lease, and these.
  const batches = loop('reconciling batches', Math.min(config.reconcileMs, config.leaseMs / 2), () =>
    reconciler.batches(),
  );
  const deliveries = loop('reconciling deliveries', Math.min(config.reconcileMs, config.leaseMs / 6), () =>
    reconciler.deliveries(),
  );
  const storage = openStorage(config);
  const sweeper = new FileSweeper({ ...deps, storage, patienceSeconds: config.fileOrphanSeconds });
  const files = loop('sweeping files', config.fileSweepMs, () => sweeper.sweep());
  const serverShare = new ServerShare({ ...deps.database.pool.options, pipeline: false }, () =>
    deps.database.tenants.names(),
  );
  const shares = loop('watching what the server has once', SHARES_MS, async () => {
    for (const session of await serverShare.endHoarders()) {
      log.error(session, "a tenant's session held too much of what PostgreSQL has once, and was ended");
    }
  });
  const wakeups = listenForWakeups(deps, () => outbox.wake());

  return Promise.resolve({
    async stop() {
      await wakeups.stop();
      await stopAll([outbox, admit, batches, deliveries, maintenance, files, shares]);
      await serverShare.close();
      await storage.close();
    },
  });
}
