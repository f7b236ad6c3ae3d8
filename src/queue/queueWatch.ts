import type { Logger } from '../foundation/observability/log.js';
import { queueFailures, queueRoundTrips } from '../foundation/observability/metrics.js';
import { startOutage } from '../foundation/observability/outage.js';
import { pollEvery } from '../foundation/lifecycle/pollEvery.js';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';
import type { Queue } from './queue.js';

const INTERVAL_MS = 2_000;

/** Measures the queue's response time every two seconds, and logs when it stops responding and when it responds again. */
export function watchQueue(queue: Pick<Queue, 'check'>, log: Logger, intervalMs = INTERVAL_MS): Stoppable {
  const outage = startOutage(log, 'the queue');
  return pollEvery(intervalMs, async () => {
    const requestedAtMs = performance.now();
    try {
      await queue.check();
    } catch (error) {
      queueFailures.inc();
      outage.failed(error);
      return;
    }
    queueRoundTrips.observe((performance.now() - requestedAtMs) / 1000);
    outage.recovered();
  });
}
