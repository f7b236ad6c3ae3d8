import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../../foundation/errors.js';
import { FILES_PATH, readLink } from '../../files/fileLinks.js';
import { SourceAborted } from '../../files/storage/fileStorage.js';
import { explain, sendFailure } from '../http/failure.js';
import type { FileDeps } from './fileDeps.js';
import { receiveFile } from './receiveFile.js';
import { sendFile } from './sendFile.js';
import { Transfers } from './transfers.js';

const ALLOW = 'GET, HEAD, PUT';

/** `/files/<signed>`. Handled ahead of Express, which adds nothing to a stream. */
export function createFilesEndpoint(
  given: Omit<FileDeps, 'transfers'>,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const deps = { ...given, transfers: new Transfers() };
  return async (req, res) => {
    try {
      await respond(deps, req, res);
    } catch (error) {
      fail(deps, req, res, error);
    }
  };
}

async function respond(deps: FileDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const method = req.method === 'HEAD' ? 'GET' : req.method;
  if (method !== 'GET' && method !== 'PUT') {
    throw new AppError('METHOD_NOT_ALLOWED', `${req.method ?? ''} is not allowed here.`);
  }
  const signed = (req.url ?? '').slice(FILES_PATH.length).split('?', 1)[0] ?? '';
  const link = readLink(deps.keyRing, signed, deps.clock.now());
  if (link.method !== method) {
    throw new AppError('FILE_URL_INVALID', `The URL is for ${link.method}, not for ${method}.`);
  }
  await (method === 'PUT' ? receiveFile(deps, link, req, res) : sendFile(deps, link, req, res));
}

function fail(deps: FileDeps, req: IncomingMessage, res: ServerResponse, error: unknown): void {
  // The client is gone.
  if (error instanceof SourceAborted || res.destroyed) return;
  if (res.headersSent) {
    deps.log.warn({ err: error }, 'a download was cut off');
    res.destroy();
    return;
  }
  const known = explain(error, deps.log, res);
  const headers: Record<string, string> = {};
  if (known.code === 'METHOD_NOT_ALLOWED') headers['allow'] = ALLOW;
  if (known.code === 'FILE_RANGE_INVALID')
    headers['content-range'] = `bytes */${String(known.details['size'])}`;
  // The unread rest of a body must not be mistaken for the next request.
  if (!req.complete) headers['connection'] = 'close';
  sendFailure(res, known, headers);
}
