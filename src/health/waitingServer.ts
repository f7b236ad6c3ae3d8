import { createServer } from 'node:http';
import { listenOptions, type Address } from '../foundation/net/listen.js';
import type { Logger } from '../foundation/observability/log.js';
import type { Dependency } from '../foundation/lifecycle/startup.js';
import { readinessBody } from './readiness.js';

const RETRY_AFTER_SECONDS = 1;

/** Serves a process's port before it can start: alive, not ready, and 503 for everything else. @returns a function that stops it */
export async function serveWhileWaiting(
  at: Address,
  dependency: Dependency,
  log: Logger,
): Promise<() => Promise<void>> {
  const notReady = readinessBody(false, [dependency], []);
  const server = createServer((req, res) => {
    const path = (req.url ?? '').split('?', 1)[0] ?? '';
    const isAlive = path === '/livez' || path === '/healthz';
    req.resume();
    res
      .writeHead(isAlive ? 200 : 503, {
        'content-type': 'application/json; charset=utf-8',
        // The process's own server will take over the port.
        connection: 'close',
        ...(isAlive ? {} : { 'retry-after': String(RETRY_AFTER_SECONDS) }),
      })
      .end(isAlive ? '{"status":"ok"}' : path === '/readyz' ? notReady : UNAVAILABLE);
  });
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', (error) => {
      // Startup itself will report what is wrong with the port.
      log.warn({ err: error, port: at.port }, 'probes get no response while waiting');
      resolve(false);
    });
    server.listen(listenOptions(at), () => resolve(true));
  });
  return () =>
    new Promise((resolve) => {
      if (!isListening) {
        resolve();
        return;
      }
      server.close(() => resolve());
      server.closeAllConnections();
    });
}

const UNAVAILABLE = JSON.stringify({
  error: 'The service is starting.',
  status: 503,
  code: 'DATABASE_UNAVAILABLE',
});
