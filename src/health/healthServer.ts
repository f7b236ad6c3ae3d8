import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import type { Database } from '../db/pool/database.js';
import { HEALTH_SETTINGS, listen } from '../foundation/net/listen.js';
import type { Logger } from '../foundation/observability/log.js';
import { collectProcessMetrics, processRegistry } from '../foundation/observability/metrics.js';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';
import { registerInstallationMetrics } from './installationMetrics.js';
import { findDown, findOverdue, readinessBody, type HealthChecks } from './readiness.js';

export interface HealthServerDeps {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly checks: HealthChecks;
  /** `relay` or `worker`: what `/readyz` names while the process stops. */
  readonly process: string;
}

export interface HealthServer extends Stoppable {
  readonly port: number;
  /** Makes the process not ready. */
  announceStop(): void;
}

/**
 * Serves probes and metrics of a relay or worker on `HEALTH_PORT`. It receives no mutations, so `/readyz` also fails while
 * the backlog is overdue.
 */
export async function startHealthServer(deps: HealthServerDeps, port: number): Promise<HealthServer> {
  const { config, checks } = deps;
  const registry = new Registry();
  const readBacklog = registerInstallationMetrics(registry, deps);
  collectProcessMetrics();
  let isStopping = false;

  const readiness = async (res: ServerResponse): Promise<void> => {
    const [down, overdue] = isStopping
      ? [[deps.process], []]
      : await Promise.all([findDown(checks), findOverdue(readBacklog, config.backlogAlarmSeconds)]);
    const ready = down.length === 0 && overdue.length === 0;
    send(res, ready ? 200 : 503, 'application/json', readinessBody(ready, down, overdue));
  };
  const metrics = async (res: ServerResponse): Promise<void> => {
    const text = await Registry.merge([processRegistry, registry]).metrics();
    send(res, 200, processRegistry.contentType, text);
  };
  const alive = (res: ServerResponse): void => {
    send(res, 200, 'application/json', '{"status":"ok"}');
  };
  const pages = new Map<string, (res: ServerResponse) => void | Promise<void>>([
    ['/livez', alive],
    ['/healthz', alive],
    ['/readyz', readiness],
    ['/metrics', metrics],
  ]);

  const server = createServer((req, res) => {
    const page = pages.get((req.url ?? '').split('?', 1)[0] ?? '');
    if (!page || (req.method !== 'GET' && req.method !== 'HEAD')) {
      send(res, page ? 405 : 404, 'application/json', '{"status":"not found"}');
      return;
    }
    Promise.resolve(page(res)).catch((error: unknown) => {
      deps.log.error({ err: error }, 'a probe got no response');
      res.destroy();
    });
  });
  await listen(server, { host: config.healthHost, port }, HEALTH_SETTINGS);
  const { port: listeningAt } = server.address() as AddressInfo;
  deps.log.info({ healthPort: listeningAt }, 'health server listening');
  return {
    port: listeningAt,
    announceStop: () => (isStopping = true),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(res: ServerResponse, status: number, type: string, body: string): void {
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}
