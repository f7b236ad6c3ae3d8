// Each part loads what it needs when it starts: a relay that takes another's place is up sooner without the web's parts.
import type { Web } from '../api/server.js';
import { systemClock } from '../clock.js';
import type { Installation } from '../compose.js';
import type { Stoppable } from '../shutdown.js';
import { createTemplatePool, type TemplatePool } from '../templates/index.js';

/** The threads that render and check templates, for one process. */
export function openTemplates({ config }: Installation): TemplatePool {
  return createTemplatePool({ threads: config.renderThreads, deadlineMs: config.renderDeadlineMs });
}

/** HTTP. It does not need the queue: mutations commit while the queue is away. */
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
  return { ...web, ...inTurn(web, { stop: () => transport.close() }) };
}

/** Outbox → queue. */
export async function startRelayPart(installation: Installation): Promise<Stoppable> {
  const [{ openQueue }, { startRelay }] = await Promise.all([
    import('../queue/queue.js'),
    import('../relay/relay.js'),
  ]);
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
  const [{ openQueue }, { startWorker }] = await Promise.all([
    import('../queue/queue.js'),
    import('../worker/worker.js'),
  ]);
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
