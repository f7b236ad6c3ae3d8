import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { create as contentDisposition } from 'content-disposition';
import parseRange from 'range-parser';
import { readFiles, type StoredFile } from '../../db/files/files.js';
import { AppError } from '../../foundation/errors.js';
import type { FileLink } from '../../files/fileLinks.js';
import type { ByteRange } from '../../files/storage/fileStorage.js';
import { type FileDeps, requirePrincipal } from './fileDeps.js';
import { endSlowDownload } from './slowDownload.js';

/** `GET` and `HEAD /files/<signed>`: the bytes or one range of them, always as a download. Throws AppError. */
export async function sendFile(
  deps: FileDeps,
  link: FileLink,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const file = await requireFile(deps, link, req);
  const etag = `"${file.checksum}"`;
  const headers = { ...headersOf(file), etag };
  if (matches(req.headers['if-none-match'], etag)) {
    res.writeHead(304, headers).end();
    return;
  }
  const range = readRange(req, etag, file.size);
  const length = range ? range.end - range.start + 1 : file.size;
  const fullHeaders: OutgoingHttpHeaders = {
    ...headers,
    'content-length': length,
    ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${file.size}` } : {}),
  };
  if (req.method === 'HEAD' || length === 0) {
    res.writeHead(range ? 206 : 200, fullHeaders).end();
    return;
  }
  deps.transfers.begin(link.tenantid, res);
  const bytes = await deps.storage.read(file.objectkey, range);
  res.writeHead(range ? 206 : 200, fullHeaders);
  const watch = endSlowDownload(res, deps.config.fileStallMs);
  try {
    await pipeline(bytes, res);
  } finally {
    watch.stop();
  }
}

async function requireFile(deps: FileDeps, link: FileLink, req: IncomingMessage): Promise<StoredFile> {
  const principal = await requirePrincipal(deps, link);
  const read = () => readFiles(deps.database.pool, link.tenantid, [link.storagekey]);
  const [file] = await deps.turns.run(req, read);
  if (!file) throw new AppError('NOT_FOUND', 'The file is gone.');
  await deps.engine.requireFileRow(principal, 'download', file);
  return file;
}

/** No file, whatever its type, may run scripts in this service's origin. */
function headersOf({ filename, mimetype }: StoredFile): OutgoingHttpHeaders {
  return {
    'content-type': mimetype,
    'content-disposition': contentDisposition(filename, { type: 'attachment' }),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
  };
}

function matches(header: string | undefined, etag: string): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes('*') || tags.includes(etag);
}

/** Multiple ranges get the whole file, as does a range of another version. */
function readRange({ headers }: IncomingMessage, etag: string, size: number): ByteRange | undefined {
  const wanted = headers.range;
  const onlyIf = headers['if-range'];
  if (wanted === undefined || (onlyIf !== undefined && onlyIf !== etag)) return undefined;
  const ranges = parseRange(size, withinSize(wanted, size));
  // A malformed range is ignored (RFC 9110, 14.2).
  if (ranges === -2) return undefined;
  if (ranges === -1 || ranges.type !== 'bytes') {
    if (ranges !== -1) return undefined;
    throw new AppError('FILE_RANGE_INVALID', 'The requested range is outside the file.', {
      details: { size },
    });
  }
  const [range] = ranges;
  return ranges.length === 1 ? range : undefined;
}

/** A suffix longer than the file means all of it (RFC 9110, 14.1.2); the parser calls that unsatisfiable. */
function withinSize(range: string, size: number): string {
  const last = /^bytes=-(\d+)$/.exec(range)?.[1];
  return last !== undefined && Number(last) > size ? `bytes=-${size}` : range;
}
