// Each part imports its dependencies on start: a replacement relay starts faster without the web's modules.
import type { Web } from '../api/server.js';
import { systemClock } from '../clock.js';
import type { Installation } from '../compose.js';
import type { Queue } from '../queue/jobQueue.js';
import type { Stoppable } from '../shutdown.js';
import { createTemplatePool, type TemplatePool } from '../templates/index.js';

/** Longest rendering of one email before its thread is ended. */
const RENDER_DEADLINE_MS = 5_000;

/** The process's template threads. */
export function openTemplates({ config }: Installation): TemplatePool {
  return createTemplatePool({ threads: config.renderThreads, deadlineMs: RENDER_DEADLINE_MS });
}

/** HTTP. Doesn't need the queue: mutations commit during a queue outage. */
export async function startWebPart(installation: Installation, templates: TemplatePool): Promise<Web> {
  const [{ startWeb }, { createControlEngine }, { createTransport }] = await Promise.all([
    import('../api/server.js'),
    import('../control/controlEngine.js'),
    import('../email/mail/createTransport.js'),
  ]);
  const { config, database } = installation;
  const transport = createTransport(config, database);
  const control = createControlEngine({ ...installation, clock: systemClock, templates, transport });
  const checks = { postgres: () => database.pool.query('select') };
  const web = await startWeb({ ...installation, clock: systemClock, control, checks });
  return { ...web, ...stopInOrder(web, { stop: () => transport.close() }) };
}

/** For relay and worker. Throws UsageError when the queue is unusable. */
export async function openQueuePart({ config, database, log }: Installation): Promise<Queue> {
  const { openQueue } = await import('../queue/queue.js');
  return openQueue(config, database, log);
}

/** Outbox → queue. */
export async function startRelayPart(installation: Installation, queue: Queue): Promise<Stoppable> {
  const { startRelay } = await import('../relay/relay.js');
  return startRelay({ ...installation, clock: systemClock, queue });
}

/** Queue → provider. */
export async function startWorkerPart(
  installation: Installation,
  templates: TemplatePool,
  queue: Queue,
): Promise<Stoppable> {
  const { startWorker } = await import('../worker/worker.js');
  return startWorker({ ...installation, clock: systemClock, templates, queue });
}

function stopInOrder(first: Stoppable, second: Stoppable): Stoppable {
  return {
    async stop() {
      await first.stop();
      await second.stop();
    },
  };
}
