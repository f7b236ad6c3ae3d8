import { Router } from 'express';
import type { Overdue } from '../db/delivery/overdue.js';
import { findDown, readinessBody, type HealthChecks } from '../health/readiness.js';
import { EXACT_PATHS } from './http/exactPaths.js';
import { sendJson } from './http/failure.js';

export interface HealthDeps {
  readonly checks: HealthChecks;
  readonly findOverdue: () => Promise<readonly Overdue[]>;
  readonly isStopping: () => boolean;
}

/**
 * `/livez`: the process responds. `/readyz`: it can do its work, otherwise 503 with the names of what is down. An overdue
 * backlog is reported in the body without affecting the status: if a load balancer removed every web process because the
 * workers are gone, it would also stop mutations, which don't need workers to commit.
 */
export function healthRoutes({ checks, findOverdue, isStopping }: HealthDeps): Router {
  return Router(EXACT_PATHS)
    .get('/livez', (_req, res) => sendJson(res, 200, '{"status":"ok"}'))
    .get('/readyz', async (_req, res) => {
      const [down, overdue] = isStopping()
        ? [['web'], []]
        : await Promise.all([findDown(checks), findOverdue()]);
      const ready = down.length === 0;
      sendJson(res, ready ? 200 : 503, readinessBody(ready, down, overdue));
    });
}
