import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { HEALTH_SETTINGS, listen, listenOptions, type Address } from '../foundation/net/listen.js';
import type { Logger } from '../foundation/observability/log.js';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';
import type { Dependency } from '../foundation/lifecycle/startup.js';
import { createProbes, LIVE, unavailable, type ProbeDeps, type ProbeResponse } from './probes.js';

export interface HealthServer extends Stoppable {
  readonly port: number;
  /** Makes the process not ready. */
  announceStop(): void;
}

/** Serves probes and metrics of a relay or worker on `HEALTH_PORT`. */
export async function startHealthServer(
  deps: ProbeDeps,
  process: 'relay' | 'worker',
  port: number,
): Promise<HealthServer> {
  const { config, log } = deps;
  let isStopping = false;
  const { live, ready, metrics } = createProbes(deps, process, new Registry(), () => isStopping);
  const probes = new Map<string, () => ProbeResponse | Promise<ProbeResponse>>([
    ['/livez', live],
    ['/readyz', ready],
    ['/metrics', metrics],
  ]);
  const server = probeServer(log, (path, { method }) => {
    const probe = probes.get(path);
    if (probe && (method === 'GET' || method === 'HEAD')) return probe();
    return { ...LIVE, status: probe ? 405 : 404, body: '{"status":"not found"}' };
  });
  await listen(server, { host: config.healthHost, port }, HEALTH_SETTINGS);
  const { port: listeningAt } = server.address() as AddressInfo;
  log.info({ healthPort: listeningAt }, 'health server listening');
  return { port: listeningAt, announceStop: () => (isStopping = true), stop: () => close(server) };
}

/** Serves a process's port before it can start: alive, not ready, and 503 for everything else. @returns a function that stops it */
export async function serveWhileWaiting(
  at: Address,
  dependency: Dependency,
  log: Logger,
): Promise<() => Promise<void>> {
  // The process's own server will take over the port.
  const headers = { connection: 'close' };
  const notReady = { ...unavailable([dependency]), headers: { ...headers, 'retry-after': '1' } };
  const server = probeServer(log, (path) => {
    if (path === '/livez') return { ...LIVE, headers };
    return path === '/readyz' ? notReady : { ...notReady, body: STARTING };
  });
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', (error) => {
      // Startup itself will report what is wrong with the port.
      log.warn({ err: error, port: at.port }, 'probes get no response while waiting');
      resolve(false);
    });
    server.listen(listenOptions(at), () => resolve(true));
  });
  return () => (isListening ? close(server) : Promise.resolve());
}

const STARTING = JSON.stringify({
  error: 'The service is starting.',
  status: 503,
  code: 'DATABASE_UNAVAILABLE',
});

/** A server whose `/healthz` is `/livez`. */
function probeServer(
  log: Logger,
  respond: (path: string, req: IncomingMessage) => ProbeResponse | Promise<ProbeResponse>,
): Server {
  return createServer((req, res) => {
    req.resume();
    const path = (req.url ?? '').split('?', 1)[0] ?? '';
    Promise.resolve(respond(path === '/healthz' ? '/livez' : path, req))
      .then(({ status, type, body, headers }) => {
        res
          .writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), ...headers })
          .end(body);
      })
      .catch((error: unknown) => {
        log.error({ err: error }, 'a probe got no response');
        res.destroy();
      });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
