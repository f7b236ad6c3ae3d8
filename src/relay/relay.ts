import { AutovacuumGuard } from '../db/isolation/autovacuumGuard.js';
import { ServerGuard } from '../db/isolation/serverGuard.js';
import { endedBatches } from '../db/outbox/batches.js';
import type { HistoryWatch } from '../db/failover/history.js';
import { countDeliveries, pruneDeliveryCounts } from '../db/ledger/countDeliveries.js';
import { countWaiting } from '../db/ledger/countWaiting.js';
import { resumeDeliveries } from '../db/ledger/pause.js';
import { adoptRestoredDump } from '../db/outbox/restoredDump.js';
import { pollOutbox } from '../db/outbox/pollOutbox.js';
import { pruneIdempotencyKeys } from '../db/outbox/idempotencyKeys.js';
import { AUDIT_EVENT_DAYS, pruneAuditEvents } from '../db/roles/auditEvents.js';
import { pruneSignInEvents } from '../db/roles/signIn/signInEvents.js';
import { prunePolls } from '../db/outbox/partitions.js';
import { pruneGaps } from '../db/capture/captureGaps.js';
import { purgeRemovedSuppressions } from '../db/email/suppressions.js';
import { deleteRowsOfDeleted, LEFT_TABLES } from '../db/tenants/rowsOfDeleted.js';
import { openStorage } from '../files/storage/openStorage.js';
import { listenForWakeups } from '../db/pool/wakeup.js';
import type { Logger } from '../foundation/observability/log.js';
import { outboxPolls, timed } from '../foundation/observability/metrics.js';
import type { Queue } from '../queue/queue.js';
import type { Services } from '../control/services.js';
import { stopAll, type Stoppable } from '../foundation/lifecycle/shutdown.js';
import { withinShare } from '../foundation/lifecycle/withinShare.js';
import { tracedFrom } from '../foundation/observability/tracing/tracing.js';
import { Admission } from './admission.js';
import { followDirectory } from './followDirectory.js';
import { startLoop } from './loop.js';
import { publish } from './publish.js';
import { CaptureRestorer } from './restoreCapture.js';
import { reconcileBatches, reconcileDeliveries } from './reconcile.js';
import { maintainPartitions } from './retention.js';
import { FileSweeper } from './sweepFiles.js';

export interface RelayDeps extends Pick<Services, 'config' | 'log' | 'clock' | 'database'> {
  readonly queue: Queue;
  readonly history?: Pick<HistoryWatch, 'onChange'>;
}

/** Maximum events per poll, in batches. */
const BATCHES_PER_POLL = 20;
/** How often waiting deliveries are counted while batches are held back or on their way. */
const ADMIT_INTERVAL_MS = 200;
const MAINTENANCE_INTERVAL_MS = 10 * 60_000;
/** Of tenants with so many that they could not be resumed in one transaction. */
const RESUME_INTERVAL_MS = 1_000;
/** Of what deleted tenants left, in each table. */
const DELETED_TENANTS_INTERVAL_MS = 10_000;
const DELETED_TOGETHER = 1_000;
const DELETED_IN_A_RUN = 50_000;
/** Counting takes at most this share of the time, however many deliveries an hour has: then the figures are older. */
const COUNTING_SHARE = 0.02;
const COUNT_INTERVAL_MS = 2_000;
/** For sessions that exhaust PostgreSQL's shared resources: nobody can write while one holds all locks. */
const SESSION_POLL_MS = 250;
const AUTOVACUUM_POLL_MS = 60_000;
/** A statement over the triggers of all captured tables, which takes some 20 ms for 5,000. */
const CAPTURE_POLL_MS = 2_000;

/**
 * Moves committed events from the outbox to the queue, and requeues open work that was lost. Any number of relays may
 * run: only one polls at a time, and everything else is idempotent.
 */
export function startRelay(deps: RelayDeps): Stoppable {
  const { config, database, log, queue } = deps;
  const { ledger } = database;
  const admission = new Admission();
  const limits = { batchEvents: config.relayBatch, pollEvents: config.relayBatch * BATCHES_PER_POLL };

  let mayBeRestored = true;
  const readOutbox = async (): Promise<void> => {
    for (;;) {
      if (mayBeRestored) {
        const adopted = await adoptRestoredDump(ledger, limits.batchEvents);
        mayBeRestored = false;
        if (adopted) await publish(queue, admission, admission.offer(adopted));
      }
      const startTime = new Date();
      const { batches, events, more, restored } = await timed(outboxPolls, () => pollOutbox(ledger, limits));
      if (restored) mayBeRestored = true;
      if (batches.length > 0) {
        const attributes = { 'rowpost.poll.events': events, 'rowpost.poll.batches': batches.length };
        await tracedFrom(undefined, 'poll outbox', { startTime, attributes }, (span) =>
          publish(queue, admission, admission.offer(batches), span),
        );
      }
      if (!more && !restored) return;
    }
  };
  const admitMore = async (): Promise<void> => {
    if (admission.isIdle) return;
    const [deliveries, ended] = await Promise.all([
      countWaiting(ledger),
      endedBatches(ledger, admission.admitted),
    ]);
    await publish(queue, admission, admission.recount(deliveries, ended));
  };

  const storage = openStorage(config);
  const sweeper = new FileSweeper({ ...deps, storage, orphanGraceSeconds: config.fileOrphanSeconds });
  const serverGuard = new ServerGuard(database.createClient, () => database.tenants.names());
  const captureRestorer = new CaptureRestorer(deps);
  const autovacuumGuard = new AutovacuumGuard(database.pool);
  const { reconcileMs, leaseMs } = config;

  const loop = (name: string, everyMs: number, step: () => Promise<void>) =>
    startLoop(step, { name, everyMs, log });
  const maintenance = loop('maintenance', MAINTENANCE_INTERVAL_MS, async () => {
    await maintainPartitions({ ledger, clock: deps.clock, log }, config);
    await prunePolls(ledger);
    await purgeRemovedSuppressions(ledger);
    await pruneIdempotencyKeys(database.pool);
    await pruneSignInEvents(database.pool, config.signInEventDays);
    await pruneAuditEvents(database.pool, AUDIT_EVENT_DAYS);
    await pruneGaps(database.pool, config.retentionDays);
    await pruneDeliveryCounts(database.pool);
  });
  const outbox = loop('reading the outbox', config.relayPollMs, readOutbox);
  const others = [
    loop('admitting batches', ADMIT_INTERVAL_MS, admitMore),
    // Work of a lost process resumes after the lease plus these intervals.
    loop('reconciling batches', Math.min(reconcileMs, leaseMs / 2), () =>
      reconcileBatches(ledger, queue, admission),
    ),
    loop('reconciling deliveries', Math.min(reconcileMs, leaseMs / 6), () =>
      reconcileDeliveries(ledger, queue, config.maxAttempts),
    ),
    loop('resuming deliveries', RESUME_INTERVAL_MS, () =>
      resumeDeliveries(ledger, config.tenantEmailsPerSecond),
    ),
    maintenance,
    ...LEFT_TABLES.map((left) =>
      loop(`deleting ${left.table} of deleted tenants`, DELETED_TENANTS_INTERVAL_MS, async () => {
        for (let deleted = 0; deleted < DELETED_IN_A_RUN; deleted += DELETED_TOGETHER)
          if ((await deleteRowsOfDeleted(ledger, left, DELETED_TOGETHER)) < DELETED_TOGETHER) return;
      }),
    ),
    loop(
      'counting deliveries',
      COUNT_INTERVAL_MS,
      withinShare(COUNTING_SHARE, () => countDeliveries(database.pool)),
    ),
    loop('sweeping files', config.fileSweepMs, () => sweeper.sweep()),
    loop('watching shared server resources', SESSION_POLL_MS, () => endHoldingSessions(serverGuard, log)),
    loop('watching captured tables', CAPTURE_POLL_MS, () => captureRestorer.run()),
    loop('watching autovacuum', AUTOVACUUM_POLL_MS, () => endHangingWork(autovacuumGuard, log)),
  ];
  deps.history?.onChange(() => {
    mayBeRestored = true;
    outbox.wake();
  });
  const wakeups = listenForWakeups(deps, () => outbox.wake());
  const followed = followDirectory(config, deps);

  return {
    async stop() {
      await wakeups.stop();
      await followed?.stop();
      await stopAll([outbox, ...others]);
      await serverGuard.close();
      await storage.close();
    },
  };
}

async function endHoldingSessions(guard: ServerGuard, log: Logger): Promise<void> {
  for (const session of await guard.endHoldingSessions()) {
    log.error(
      session,
      "a tenant's session held up others, or held too many of PostgreSQL's shared resources, and was terminated",
    );
  }
}

async function endHangingWork(guard: AutovacuumGuard, log: Logger): Promise<void> {
  for (const { failure, ...table } of await guard.endHangingWork()) {
    if (failure)
      log.error({ ...table, err: failure }, "autovacuum hangs in a tenant's table, and can't be ended");
    else log.error(table, "autovacuum hung in a tenant's table, where it does not do that any more");
  }
}
