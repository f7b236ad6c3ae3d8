import { Router, type RequestHandler } from 'express';
import type { Registry } from 'prom-client';
import { createProbes, type ProbeResponse } from '../../health/probes.js';
import { nothingHere, sendFailure } from './failure.js';
import { isForwarded } from './forwarded.js';
import type { WebDeps } from './webDeps.js';

/** The probes and metrics of a web process, on its own port. */
export function probeRoutes(
  deps: WebDeps & { readonly isStopping: () => boolean },
  registry: Registry,
): Router {
  const { live, ready, metrics } = createProbes(deps, 'web', registry, deps.isStopping);
  // Proxies in front hide paths by name: by default, Express would also serve `/METRICS` and `/metrics/`.
  return Router({ caseSensitive: true, strict: true })
    .get('/livez', respondWith(live))
    .get('/readyz', respondWith(ready))
    .get('/metrics', onlyDirectly, respondWith(metrics));
}

function respondWith(probe: () => ProbeResponse | Promise<ProbeResponse>): RequestHandler {
  return async (_req, res) => {
    const { status, type, body } = await probe();
    res.status(status).set({ 'content-type': type, 'cache-control': 'no-store' }).end(body);
  };
}

/** Metrics need no token, and Prometheus comes directly: what a proxy passes on comes from anyone. */
const onlyDirectly: RequestHandler = (req, res, next) => {
  if (isForwarded(req)) sendFailure(res, nothingHere());
  else next();
};
