import { Histogram, Registry } from 'prom-client';
import { API_PATHS } from './apiPaths.js';
import type { RequestRecord } from './requestRecord.js';

/** Paths with their own label. All others share one, since arbitrary URLs must not become time series. */
const ROUTES: ReadonlySet<string> = new Set([...API_PATHS, '/mailbox', '/metrics']);

/** Paths that end in an id, which the label omits. */
const ROUTES_WITH_ID = ['/events/sendgrid/', '/oidc/', '/files/', '/console/', '/unsubscribe/'];

/** The path of a request for metrics and logs: without ids, and never one that works like a token. */
export function routeOf(path: string): string {
  return ROUTES.has(path) ? path : (ROUTES_WITH_ID.find((start) => path.startsWith(start)) ?? 'other');
}

/** Counts and times requests. */
export class HttpMetrics {
  readonly registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;

  constructor() {
    this.#requests = new Histogram({
      name: 'rowpost_http_request_seconds',
      help: 'Time from the request to the end of its response.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers: [this.registry],
    });
  }

  observe({ method, route, startedAtMs }: RequestRecord, status: number): void {
    this.#requests.observe({ method, route, status }, (performance.now() - startedAtMs) / 1000);
  }
}
