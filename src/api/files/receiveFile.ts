import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { beginUpload, forgetObject, abandonObject, type PendingUpload } from '../../db/files/uploads.js';
import type { Principal } from '../../db/roles/principal.js';
import { AppError, type ErrorCode } from '../../foundation/errors.js';
import type { FileLink } from '../../files/fileLinks.js';
import { isAllowedType, typeOf } from '../../files/fileType.js';
import { newObjectkey } from '../../files/storage/fileStorage.js';
import type { RecordedFile, StoredBytes } from '../../graphql/files/fileRows.js';
import { sendJson } from '../http/failure.js';
import { type FileDeps, requirePrincipal } from './fileDeps.js';
import { feed, IncomingBytes } from './incomingBytes.js';
import { OBJECT_LEASE_MS } from './objectLeases.js';

/**
 * `PUT /files/<signed>`. Records the intent to write an object, streams its bytes to the storage and makes them durable,
 * then records the file and its event in one transaction. A failure leaves no file, only an object that the sweeper will
 * delete. Throws AppError.
 */
export async function receiveFile(
  deps: FileDeps,
  link: FileLink,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  // RFC 9110, 14.4: a part of a file must not be taken for the whole.
  if (req.headers['content-range'] !== undefined) {
    throw new AppError('BAD_REQUEST', 'Content-Range is not accepted: an upload is a whole file.', {
      hint: 'Send the whole file in one PUT.',
    });
  }
  const { tenantid, storagekey } = link;
  const size = readSize(req, link, deps.config.fileMaxBytes);
  const principal = await requirePrincipal(deps, link);
  deps.transfers.begin(tenantid, res);
  const objectkey = newObjectkey(tenantid);
  const begin = () => beginUpload(deps.database.pool, { storagekey, tenantid, objectkey }, OBJECT_LEASE_MS);
  const start = await deps.turns.run(req, begin);
  if (start.state !== 'begun') throw refusal(start.state);
  const file = await storeAndRecord(
    deps,
    link,
    { principal, upload: start.upload, objectkey, size },
    req,
    res,
  );
  sendJson(res, 201, JSON.stringify(file));
}

interface Attempt {
  readonly principal: Principal;
  readonly upload: PendingUpload;
  readonly objectkey: string;
  readonly size: number;
}

/** Stores the file, or leaves nothing behind. */
async function storeAndRecord(
  deps: FileDeps,
  link: FileLink,
  attempt: Attempt,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<RecordedFile> {
  const { principal, upload, objectkey } = attempt;
  const lease = deps.leases.hold(objectkey);
  let isWritten = false;
  try {
    await deps.engine.requireFileRow(principal, 'upload', upload);
    // The client may be waiting for 100 Continue.
    if (/100-continue/i.test(req.headers.expect ?? '')) res.writeContinue();
    isWritten = true;
    const bytes = await store(deps, attempt, lease.signal, req);
    return await record(deps, link, upload, bytes);
  } catch (error) {
    // Unknown whether the file was recorded: if not, the sweeper removes the object.
    const isUnknown = error instanceof AppError && error.code === 'OUTCOME_UNKNOWN';
    if (!isUnknown) await cleanUp(deps, objectkey, isWritten);
    throw error;
  } finally {
    lease.release();
  }
}

/** Streams the bytes to the storage. */
async function store(
  { storage, config }: FileDeps,
  { upload, objectkey, size }: Attempt,
  signal: AbortSignal,
  req: IncomingMessage,
): Promise<StoredBytes> {
  let mimetype = '';
  const bytes = new IncomingBytes({
    size,
    onStart: async (start) => {
      mimetype = await typeOf(start, upload);
      if (isAllowedType(mimetype, config.fileTypes)) return;
      throw new AppError('FILE_TYPE_REFUSED', `Files of type ${mimetype} are not accepted.`);
    },
  });
  const stop = feed(req, bytes, config.fileStallMs);
  try {
    await storage.write(objectkey, bytes, size, signal);
  } finally {
    stop();
  }
  return { objectkey, mimetype, size, sha256: bytes.digest() };
}

/** Errors after which recording the file is retried, so that the client need not upload again. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  'TRANSACTION_CONFLICT',
  'DATABASE_UNAVAILABLE',
  'STATEMENT_TIMEOUT',
]);
const MAX_TRIES = 5;
const RETRY_MS = 500;

/** Uses the role's current permissions, since an upload may have taken hours. */
async function record(
  deps: FileDeps,
  link: FileLink,
  upload: PendingUpload,
  bytes: StoredBytes,
): Promise<RecordedFile> {
  for (let tries = 1; ; tries++) {
    try {
      return await deps.engine.recordFile(await requirePrincipal(deps, link), upload, bytes);
    } catch (error) {
      const mayPass = error instanceof AppError && RETRYABLE.has(error.code);
      if (!mayPass || tries === MAX_TRIES) throw error;
      await delay(RETRY_MS);
    }
  }
}

/** Checked before any byte is read. Throws AppError FILE_LENGTH_REQUIRED, FILE_LENGTH_MISMATCH, FILE_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE. */
function readSize({ headers }: IncomingMessage, link: FileLink, maxBytes: number): number {
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the file without Content-Encoding.');
  }
  const announced = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  const size = announced ?? link.size ?? undefined;
  if (size === undefined) throw new AppError('FILE_LENGTH_REQUIRED', 'The size of the file is not known.');
  if (size > maxBytes)
    throw new AppError('FILE_TOO_LARGE', `The file is larger than the limit of ${maxBytes} bytes.`);
  if (link.size !== null && size !== link.size) {
    throw new AppError(
      'FILE_LENGTH_MISMATCH',
      `The file was declared to have ${link.size} bytes, not ${size}.`,
    );
  }
  return size;
}

function refusal(state: 'expired' | 'done' | 'in_progress'): AppError {
  switch (state) {
    case 'expired':
      return new AppError('FILE_URL_EXPIRED', 'The upload has expired.');
    case 'done':
      return new AppError('FILE_UPLOADED_ALREADY', 'This upload is already complete.');
    case 'in_progress':
      return new AppError('FILE_UPLOAD_IN_PROGRESS', 'This upload is already in progress.');
  }
}

/** If cleanup fails, the sweeper catches up. */
async function cleanUp(
  { storage, database: { pool }, log }: FileDeps,
  objectkey: string,
  isWritten: boolean,
): Promise<void> {
  try {
    if (!isWritten) await forgetObject(pool, objectkey);
    else if (await abandonObject(pool, objectkey, OBJECT_LEASE_MS)) await storage.remove(objectkey);
  } catch (error) {
    log.warn({ err: error, objectkey }, 'an interrupted upload is left to the sweeper');
  }
}
