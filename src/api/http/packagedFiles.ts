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
const GRAPHIQL_PACKAGE = require.resolve('graphiql/package.json');
const CODEMIRROR_PACKAGE = require.resolve('codemirror/package.json');

interface PackagedFile {
  readonly url: string;
  readonly file: string;
  /** Otherwise it is a style sheet. */
  readonly isScript: boolean;
}

// The packages' files for use without a bundler, in load order.

export const GRAPHIQL: readonly PackagedFile[] = [
  packaged(REACT, 'umd/react.production.min.js'),
  packaged(REACT_DOM, 'umd/react-dom.production.min.js'),
  packaged(GRAPHIQL_PACKAGE, 'graphiql.min.js'),
  packaged(GRAPHIQL_PACKAGE, 'graphiql.min.css'),
];

export const CODEMIRROR: readonly PackagedFile[] = [
  'lib/codemirror.css',
  'addon/hint/show-hint.css',
  'lib/codemirror.js',
  'addon/hint/show-hint.js',
  'addon/mode/overlay.js',
  'mode/xml/xml.js',
  'mode/css/css.js',
  'mode/javascript/javascript.js',
  'mode/htmlmixed/htmlmixed.js',
  'mode/jinja2/jinja2.js',
].map((file) => packaged(CODEMIRROR_PACKAGE, file));

function packaged(manifest: string, file: string): PackagedFile {
  const { name, version } = require(manifest) as { readonly name: string; readonly version: string };
  return {
    // The URL contains the version, so that browsers may cache files indefinitely.
    url: `/assets/${name}-${version}/${path.basename(file)}`,
    file: path.join(path.dirname(manifest), file),
    isScript: file.endsWith('.js'),
  };
}

/** The elements that load the files in a page whose policy allows the nonce. */
export function tagsOf(files: readonly PackagedFile[], nonce: string): string {
  const tags = files.map(({ url, isScript }) =>
    isScript
      ? `<script defer nonce="${nonce}" src="${url}"></script>`
      : `<link rel="stylesheet" nonce="${nonce}" href="${url}" />`,
  );
  return tags.join('\n    ');
}

/** Serves only these files of the packages. */
export function packagedFiles(): Router {
  const router = Router();
  for (const { url, file } of [...GRAPHIQL, ...CODEMIRROR]) router.get(url, serve(file));
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
