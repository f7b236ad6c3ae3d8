import type { Installation } from '../compose.js';
import { systemClock } from '../clock.js';
import { startWeb, type Web } from '../api/server.js';
import { createTransport } from '../email/mail/createTransport.js';
import { createControlEngine } from '../graphql/control/controlEngine.js';
import { openQueue } from '../queue/queue.js';
import { startRelay } from '../relay/relay.js';
import type { Stoppable } from '../shutdown.js';
import { createTemplatePool, type TemplatePool } from '../templates/index.js';
import { startWorker } from '../worker/worker.js';

/** The threads that render and check templates, for one process. */
export function openTemplates({ config }: Installation): TemplatePool {
  return createTemplatePool({ threads: config.renderThreads, deadlineMs: config.renderDeadlineMs });
}

/** HTTP. It does not need the queue: mutations commit while the queue is away. */
export async function startWebPart(installation: Installation, templates: TemplatePool): Promise<Web> {
  const { config, database } = installation;
  const transport = createTransport(config, database);
  const control = createControlEngine({ ...installation, clock: systemClock, templates, transport });
  const checks = { postgres: () => database.pool.query('select') };
  const web = await startWeb({ ...installation, clock: systemClock, control, checks });
  return { ...web, ...inTurn(web, { stop: () => transport.close() }) };
}

/** Outbox → queue. */
export async function startRelayPart(installation: Installation): Promise<Stoppable> {
  const { config, database, log } = installation;
  const queue = await openQueue(config, database, log);
  const relay = await startRelay({ ...installation, clock: systemClock, queue });
  return inTurn(relay, { stop: () => queue.close() });
}

/** Queue → provider. */
export async function startWorkerPart(
  installation: Installation,
  templates: TemplatePool,
): Promise<Stoppable> {
  const { config, database, log } = installation;
  const queue = await openQueue(config, database, log);
  const worker = await startWorker({ ...installation, clock: systemClock, templates, queue });
  return inTurn(worker, { stop: () => queue.close() });
}

/** Stops the first, then the second. */
function inTurn(first: Stoppable, second: Stoppable): Stoppable {
  return {
    async stop() {
      await first.stop();
      await second.stop();
    },
  };
}
