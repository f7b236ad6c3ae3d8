import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import express, { Router, type RequestHandler } from 'express';

// The same place relative to src/api and to dist/api.
const ASSETS_DIR = fileURLToPath(new URL('../../assets', import.meta.url));

/** The page for trying GraphQL by hand, at the addresses of the endpoints, and the files that pages need. */
export function consoleRoutes(): Router {
  const html = readFileSync(`${ASSETS_DIR}/console/index.html`, 'utf8');
  const page: RequestHandler = (_req, res) => {
    res.setHeader('cache-control', 'no-cache');
    res.type('html').send(html);
  };
  return Router()
    .get('/', (_req, res) => res.redirect('/query'))
    .get('/query', page)
    .get('/roles_pbac', page)
    .use('/assets', express.static(ASSETS_DIR, { index: false, maxAge: '1h' }));
}
