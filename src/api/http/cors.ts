import type { IncomingMessage, ServerResponse } from 'node:http';
import { FILES_PATH } from '../../files/fileLinks.js';
import { API_PATHS } from './apiPaths.js';

/**
 * What pages of other origins may call and read: nothing that a cookie opens. A browser sends the console's cookie with requests
 * of pages on the same site, such as `app.example.com` to `rowpost.example.com`, and a local mailbox is open without one.
 */
const API: ReadonlySet<string> = new Set(API_PATHS);

const METHODS = 'GET, POST, PUT, OPTIONS';
const EXPOSED =
  'retry-after, x-request-id, x-rowpost-cell, etag, accept-ranges, content-range, content-disposition';
const PREFLIGHT_SECONDS = '600';

/**
 * Sets the CORS headers of a response of the API. Named origins may send credentials. `*` allows every origin, without them.
 * @returns true if the request was a preflight, to which it has responded
 */
export function createCors(
  origins: readonly string[],
): (req: IncomingMessage, res: ServerResponse, path: string) => boolean {
  const named = new Set(origins.filter((origin) => origin !== '*'));
  const any = origins.includes('*');
  return (req, res, path) => {
    const origin = API.has(path) || path.startsWith(FILES_PATH) ? req.headers.origin : undefined;
    const preflight = req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined;
    // Vary even without an Origin header, for caches that saw the request without one.
    if (named.size > 0) res.setHeader('vary', 'Origin');
    if (origin !== undefined && (named.has(origin) || any)) {
      res.setHeader('access-control-allow-origin', named.has(origin) ? origin : '*');
      if (named.has(origin)) res.setHeader('access-control-allow-credentials', 'true');
      res.setHeader('access-control-expose-headers', EXPOSED);
      if (preflight) {
        res.setHeader('access-control-allow-methods', METHODS);
        // All: clients add headers of their own, such as Apollo's name and the `traceparent` of a trace.
        const requested = req.headers['access-control-request-headers'];
        if (requested !== undefined) res.setHeader('access-control-allow-headers', requested);
        res.setHeader('access-control-max-age', PREFLIGHT_SECONDS);
      }
    }
    if (preflight) res.writeHead(204).end();
    return preflight;
  };
}
