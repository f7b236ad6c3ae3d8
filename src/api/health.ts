import { Router } from 'express';
import { sendJson } from './http/failure.js';

/** Resolves when a dependency is healthy, else rejects. */
export type HealthCheck = () => Promise<unknown>;

const CHECK_TIMEOUT_MS = 2_000;

export interface HealthDeps {
  /** By name as shown by /readyz: `postgres`, `queue`. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
  readonly isStopping: () => boolean;
}

/** `/livez`: the process responds. `/readyz`: it can do its work; else 503 with the names of what is down. */
export function healthRoutes({ checks, isStopping }: HealthDeps): Router {
  return Router()
    .get('/livez', (_req, res) => sendJson(res, 200, '{"status":"ok"}'))
    .get('/readyz', async (_req, res) => {
      const down = isStopping() ? ['web'] : await findDown(checks);
      const ready = down.length === 0;
      sendJson(res, ready ? 200 : 503, JSON.stringify({ status: ready ? 'ok' : 'unavailable', down }));
    });
}

async function findDown(checks: HealthDeps['checks']): Promise<readonly string[]> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => ((await passes(check)) ? [] : [name])),
  );
  return results.flat();
}

async function passes(check: HealthCheck): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_TIMEOUT_MS);
  });
  const works = check().then(
    () => true,
    () => false,
  );
  const passed = await Promise.race([works, timeout]);
  clearTimeout(timer);
  return passed;
}
