import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import express, { Router, type RequestHandler } from 'express';
import { CONTENT_POLICY } from '../http/contentPolicy.js';
import { wantsHtml } from './graphqlMediaType.js';
import { GRAPHIQL, packagedFiles, tagsOf } from '../http/packagedFiles.js';

const NONCE = '{{nonce}}';
// Resolves from both src/api/graphql and dist/api/graphql.
const ASSETS_DIR = fileURLToPath(new URL('../../../assets', import.meta.url));

/** GraphiQL at the endpoints' URLs, and the pages' static files. */
export function graphiqlRoutes(): Router {
  const html = readFileSync(`${ASSETS_DIR}/graphiql/index.html`, 'utf8').replace(
    '{{graphiql}}',
    tagsOf(GRAPHIQL, NONCE),
  );
  const page: RequestHandler = (_req, res) => {
    const nonce = randomBytes(16).toString('base64url');
    res.setHeader('content-security-policy', pagePolicy(nonce));
    res.setHeader('cache-control', 'no-store');
    res.type('html').send(html.replaceAll(NONCE, nonce));
  };
  return (
    Router()
      // Browsers begin with the console. Who asks for JSON gets what `/query` responds.
      .get('/', (req, res) => res.redirect(wantsHtml(req.headers.accept) ? '/console' : '/query'))
      .get(['/query', '/roles_pbac'], page)
      .use(packagedFiles())
      .use(
        '/assets',
        express.static(ASSETS_DIR, {
          index: false,
          cacheControl: false,
          // After an upgrade, no cached file of the previous version may be used with the new page.
          setHeaders: (res) => res.setHeader('cache-control', 'no-cache'),
        }),
      )
  );
}

function pagePolicy(nonce: string): string {
  const directives = {
    ...CONTENT_POLICY,
    // By nonce, not by origin: files uploaded by tenants share the origin. Scripts and styles that the page adds, such as
    // the style elements of GraphiQL's dialogs, carry the nonce too.
    'script-src': [`'nonce-${nonce}'`],
    'style-src': [`'nonce-${nonce}'`],
    // GraphiQL's fonts are inlined in its style sheet.
    'font-src': ['data:'],
  };
  return Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources.join(' ')}`)
    .join(';');
}
