import type { Web } from '../api/server.js';
import {
  openInstallation,
  openQueuePart,
  openTemplates,
  requireCurrentSchema,
  startHealthPart,
  startRelayPart,
  startWebPart,
  startWorkerPart,
  type Installation,
} from '../process/compose.js';
import { requireKeysOf } from '../db/roles/signIn/signingKeys.js';
import { hasSharedRole } from '../db/tenants/lostRoles.js';
import { UsageError } from '../foundation/errors.js';
import type { Queue } from '../queue/queue.js';
import { stoppable, stopOnSignal, type Stoppable } from '../foundation/lifecycle/shutdown.js';
import type { Command } from './command.js';

export const web = serverCommand('web', async (installation) => {
  const templates = await openTemplates(installation);
  return [await startWebPart(installation, templates), stoppable(templates)];
});

export const relay = serverCommand('relay', async (installation) => {
  const queue = await openQueuePart(installation);
  const part = await startRelayPart(installation, queue);
  return withHealth(installation, 'relay', queue, [part, stoppable(queue)]);
});

export const worker = serverCommand('worker', async (installation) => {
  const templates = await openTemplates(installation);
  const queue = await openQueuePart(installation);
  const part = await startWorkerPart(installation, templates, queue);
  return withHealth(installation, 'worker', queue, [part, stoppable(queue), stoppable(templates)]);
});

/** Serves probes until the last part has stopped; they report the shutdown from its beginning. */
async function withHealth(
  installation: Installation,
  process: 'relay' | 'worker',
  queue: Queue,
  parts: readonly Stoppable[],
): Promise<readonly Stoppable[]> {
  const health = await startHealthPart(installation, process, queue);
  if (!health) return parts;
  const announce: Stoppable = {
    stop() {
      health.announceStop();
      return Promise.resolve();
    },
  };
  return [announce, ...parts, health];
}

/** Everything in one process, on the embedded PostgreSQL if no DATABASE_URL is set. */
export const all: Command = async () => {
  const installation = await openInstallation('all', 'all');
  const { parts } = await startEverything(installation);
  stopOnSignal([...parts, installation], installation.config.graceMs, installation.log);
  installation.log.info('started');
  return 0;
};

/**
 * Migrates the database and starts all parts.
 * @returns the parts in the order in which to stop them: first stop accepting requests, then drain the work they caused
 */
export async function startEverything(
  installation: Installation,
): Promise<{ web: Web; parts: readonly Stoppable[] }> {
  const { releaseInstallation } = await import('./release.js');
  await releaseInstallation(installation);
  await requireKeysOf(installation.database.pool, installation.keyRing);
  const templates = await openTemplates(installation);
  const queue = await openQueuePart(installation);
  const workerPart = await startWorkerPart(installation, templates, queue);
  const relayPart = await startRelayPart(installation, queue);
  const webPart = await startWebPart(installation, templates);
  return { web: webPart, parts: [webPart, relayPart, workerPart, stoppable(queue), stoppable(templates)] };
}

/** A process that scales independently. Needs a shared database that is already migrated. */
function serverCommand(
  name: 'web' | 'relay' | 'worker',
  start: (installation: Installation) => Promise<readonly Stoppable[]>,
): Command {
  return async () => {
    const installation = await openInstallation(name, name);
    if (installation.config.embedded) {
      await installation.stop();
      throw new UsageError(
        `"rowpost ${name}" needs DATABASE_URL; "rowpost all" runs everything in one process`,
      );
    }
    await installation.startup.step(() => requireCurrentSchema(installation.database));
    if (!(await hasSharedRole(installation.database.pool))) {
      throw new UsageError(
        'the database lacks its roles, for example because a dump was restored: run "rowpost release" first',
      );
    }
    // A process with other keys could not decrypt stored secrets, and would set other passwords for tenants' logins.
    await requireKeysOf(installation.database.pool, installation.keyRing);
    const parts = await start(installation);
    stopOnSignal([...parts, installation], installation.config.graceMs, installation.log);
    installation.log.info('started');
    return 0;
  };
}
