import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Router, type RequestHandler } from 'express';

const compress = promisify(gzip);
const require = createRequire(import.meta.url);

const REACT = require.resolve('react/package.json');
const REACT_DOM = require.resolve('react-dom/package.json');
const GRAPHIQL = require.resolve('graphiql/package.json');

/** The packages' files for use without a bundler, in loading order. */
const FILES = [
  packaged(REACT, 'umd/react.production.min.js'),
  packaged(REACT_DOM, 'umd/react-dom.production.min.js'),
  packaged(GRAPHIQL, 'graphiql.min.js'),
  packaged(GRAPHIQL, 'graphiql.min.css'),
];

interface PackagedFile {
  readonly url: string;
  readonly file: string;
}

function packaged(manifest: string, file: string): PackagedFile {
  const { name, version } = require(manifest) as { readonly name: string; readonly version: string };
  return {
    // The URL contains the version, so that browsers may cache files indefinitely.
    url: `/assets/${name}-${version}/${path.basename(file)}`,
    file: path.join(path.dirname(manifest), file),
  };
}

/** The elements that load GraphiQL into a page whose policy allows the nonce. */
export function graphiqlTags(nonce: string): string {
  const tag = (url: string): string =>
    url.endsWith('.css')
      ? `<link rel="stylesheet" nonce="${nonce}" href="${url}" />`
      : `<script defer nonce="${nonce}" src="${url}"></script>`;
  return FILES.map(({ url }) => tag(url)).join('\n    ');
}

/** Serves GraphiQL's files from its packages, and no other files of theirs. */
export function graphiqlFiles(): Router {
  const router = Router();
  for (const { url, file } of FILES) router.get(url, serve(file));
  return router;
}

function serve(file: string): RequestHandler {
  let reading: Promise<Encodings> | undefined;
  return async (req, res) => {
    reading ??= read(file);
    const { plain, gzipped } = await reading;
    res.setHeader('cache-control', 'public, max-age=31536000, immutable');
    res.vary('accept-encoding').type(path.extname(file));
    if (req.acceptsEncodings('gzip')) res.setHeader('content-encoding', 'gzip').send(gzipped);
    else res.send(plain);
  };
}

interface Encodings {
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

async function read(file: string): Promise<Encodings> {
  const plain = await readFile(file);
  return { plain, gzipped: await compress(plain) };
}
