import { Router } from 'express';
import { Registry } from 'prom-client';
import type { BacklogReader } from '../../health/backlogReader.js';
import { findDown, findOverdue, readinessBody } from '../../health/readiness.js';
import { processRegistry } from '../../foundation/observability/metrics.js';
import { nothingHere, sendFailure, sendJson } from './failure.js';
import { isForwarded } from './forwarded.js';
import type { WebDeps } from './webDeps.js';

/**
 * `/livez`: the process responds. `/readyz`: it can do its work, otherwise 503 with the names of what is down. An overdue
 * backlog is reported in the body without affecting the status: if a load balancer removed every web process because the
 * workers are gone, it would also stop mutations, which don't need workers to commit. `/metrics`: those of the process.
 */
export function probeRoutes(
  { checks, config, isStopping }: WebDeps & { readonly isStopping: () => boolean },
  registry: Registry,
  readBacklog: BacklogReader,
): Router {
  // Proxies in front hide paths by name: by default, Express would also serve `/METRICS` and `/metrics/`.
  return Router({ caseSensitive: true, strict: true })
    .get('/livez', (_req, res) => sendJson(res, 200, '{"status":"ok"}'))
    .get('/readyz', async (_req, res) => {
      const [down, overdue] = isStopping()
        ? [['web'], []]
        : await Promise.all([findDown(checks), findOverdue(readBacklog, config.backlogAlarmSeconds)]);
      const ready = down.length === 0;
      sendJson(res, ready ? 200 : 503, readinessBody(ready, down, overdue));
    })
    .get('/metrics', async (req, res) => {
      // It needs no token, and Prometheus comes directly: what a proxy passes on comes from anyone.
      if (isForwarded(req)) {
        sendFailure(res, nothingHere());
        return;
      }
      res.setHeader('content-type', registry.contentType);
      res.end(await Registry.merge([processRegistry, registry]).metrics());
    });
}
