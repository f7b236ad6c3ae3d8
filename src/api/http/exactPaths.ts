import type { RouterOptions } from 'express';

/** For paths that proxies in front hide by name: Express would also serve `/METRICS` and `/metrics/`. */
export const EXACT_PATHS: RouterOptions = { caseSensitive: true, strict: true };
