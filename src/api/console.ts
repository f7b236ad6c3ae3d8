import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import express, { Router, type RequestHandler } from 'express';

// The same place relative to src/api and to dist/api.
const ASSETS_DIR = fileURLToPath(new URL('../../assets/console', import.meta.url));

/** The page for trying GraphQL by hand, at the addresses of the endpoints, and the files that it needs. */
export function consoleRoutes(): Router {
  const html = readFileSync(`${ASSETS_DIR}/index.html`, 'utf8');
  const page: RequestHandler = (_req, res) => {
    res.setHeader('cache-control', 'no-cache');
    res.type('html').send(html);
  };
  return Router()
    .get('/query', page)
    .get('/roles_pbac', page)
    .use('/console', express.static(ASSETS_DIR, { index: false, maxAge: '1h' }));
}
