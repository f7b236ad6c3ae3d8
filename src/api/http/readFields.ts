import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../foundation/errors.js';
import { isJsonObject, parseJson } from '../../foundation/json/losslessJson.js';
import { ReceivedBytes } from '../../foundation/net/receivedBytes.js';
import { FREE_BYTES, type ReserveBytes } from './bodyBudget.js';

/** The fields of a request's body: members of a JSON object, or text fields of a form. */
export interface Fields {
  readonly kind: 'json' | 'form';
  readonly values: Readonly<Record<string, unknown>>;
}

/** Schedules CPU-bound work, in turn with that of others. */
export type InTurn = <T>(work: () => T) => Promise<T>;

/** Parsed in a few milliseconds. */
export const QUICK_BYTES = 65_536;
export const AT_ONCE: InTurn = (work) => Promise.resolve(work());

/**
 * Reads a body of JSON, a urlencoded form or a multipart form, all in UTF-8.
 * Throws AppError BAD_REQUEST, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, and what `inTurn` throws.
 * @param inTurn parses large bodies; others take milliseconds
 * @param startReservation called for a large body
 */
export async function readFields(
  req: IncomingMessage,
  limitBytes: number,
  inTurn: InTurn = AT_ONCE,
  startReservation?: () => ReserveBytes,
): Promise<Fields> {
  const contentType = req.headers['content-type'] ?? '';
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase();
  requirePlainUtf8(req, contentType);
  const read = async <T>(parse: (bytes: Buffer) => T): Promise<T> => {
    const bytes = await readBytes(req, limitBytes, startReservation);
    return bytes.length > QUICK_BYTES ? inTurn(() => parse(bytes)) : parse(bytes);
  };
  switch (mediaType) {
    case 'application/json':
      return { kind: 'json', values: await read((bytes) => parseObject(textOf(bytes))) };
    case 'application/x-www-form-urlencoded':
      return { kind: 'form', values: await read(parseForm) };
    case 'multipart/form-data':
      return { kind: 'form', values: await read((bytes) => parseMultipart(bytes, contentType)) };
    default:
      throw new AppError(
        'UNSUPPORTED_MEDIA_TYPE',
        mediaType ? `A body of ${mediaType} can't be read.` : 'The Content-Type of the body is missing.',
      );
  }
}

function requirePlainUtf8(req: IncomingMessage, contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  const encoding = req.headers['content-encoding'] ?? 'identity';
  if (!/^utf-?8$/i.test(charset)) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body in UTF-8.');
  }
  if (encoding.toLowerCase() !== 'identity') {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without Content-Encoding.');
  }
}

/** Other encodings are refused, not stored with replacement characters. Some editors and shells write a byte order mark. */
function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw notUtf8();
  return bytes.toString('utf8').replace(/^\ufeff/, '');
}

function notUtf8(): AppError {
  return new AppError('BAD_REQUEST', 'The body is not valid UTF-8.');
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new AppError('BAD_REQUEST', 'The body is not valid JSON.', { cause: error });
  }
  if (Array.isArray(value)) {
    throw new AppError('BAD_REQUEST', 'The body is a list of requests; batches are not supported.', {
      hint: 'Send each request by itself, as a JSON object.',
    });
  }
  if (!isJsonObject(value)) throw new AppError('BAD_REQUEST', 'The body is not a JSON object.');
  return value;
}

/** More than any form has; each takes microseconds, in which nothing else runs. */
const MAX_FIELDS = 8_000;
/** The parts of a multipart form take ten times as long. */
const MAX_PARTS = 1_000;

/** Throws AppError BAD_REQUEST. @param separator what each field but the first begins with */
function limitFields(bytes: Buffer, separator: string, most: number): void {
  let count = 1;
  for (let at = bytes.indexOf(separator); at >= 0; at = bytes.indexOf(separator, at + separator.length)) {
    count += 1;
    if (count > most) throw new AppError('BAD_REQUEST', `The form has more than ${most} fields.`);
  }
}

function parseForm(bytes: Buffer): Record<string, unknown> {
  limitFields(bytes, '&', MAX_FIELDS);
  const text = textOf(bytes);
  const values = Object.fromEntries(new URLSearchParams(text));
  // Escaped bytes that are not UTF-8 are decoded to replacement characters.
  const isReplaced = Object.values(values).some((value) => value.includes('\ufffd'));
  if (isReplaced && !/\ufffd|%ef%bf%bd/i.test(text)) throw notUtf8();
  return values;
}

async function parseMultipart(bytes: Buffer, contentType: string): Promise<Record<string, unknown>> {
  const boundary = /;\s*boundary="?([^";]+)/i.exec(contentType)?.[1] ?? '';
  limitFields(bytes, `--${boundary}`, MAX_PARTS);
  // Not as it was sent: another parser may read another boundary from it.
  const counted = `multipart/form-data; boundary="${boundary}"`;
  try {
    // Deprecated for streams that servers read without a limit; this body is bounded and in memory.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    const form = await new Response(bytes, { headers: { 'content-type': counted } }).formData();
    return Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'));
  } catch (error) {
    throw new AppError('BAD_REQUEST', 'The multipart form does not parse.', { cause: error });
  }
}

/**
 * Throws AppError BODY_TOO_LARGE as soon as the limit is exceeded, BAD_REQUEST if the client disconnects, and what the room
 * throws. The request is left paused if its body was not read to the end.
 * @param startReservation called if the body is large
 */
export function readBytes(
  req: IncomingMessage,
  limitBytes: number,
  startReservation?: () => ReserveBytes,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = (): AppError =>
      new AppError('BODY_TOO_LARGE', `The body is larger than ${limitBytes} bytes.`);
    if (Number(req.headers['content-length'] ?? 0) > limitBytes) {
      reject(tooLarge());
      return;
    }
    let received = new ReceivedBytes();
    let reserveBytes: ReserveBytes | undefined;
    const keep = (chunk: Buffer): void => {
      const bytes = received.length + chunk.length;
      if (bytes > limitBytes) throw tooLarge();
      if (bytes > FREE_BYTES && startReservation) {
        const isFirst = reserveBytes === undefined;
        reserveBytes ??= startReservation();
        reserveBytes(isFirst ? bytes : chunk.length);
      }
      received.add(chunk);
    };
    req.on('data', function read(chunk: Buffer) {
      try {
        keep(chunk);
      } catch (error) {
        req.off('data', read).pause();
        received = new ReceivedBytes();
        reject(error instanceof Error ? error : new Error('a body could not be kept', { cause: error }));
      }
    });
    req.on('end', () => resolve(received.toBuffer()));
    req.on('close', () => {
      // Emitted for every request; creating an error each time would cost 4 % of a small response.
      if (!req.complete) reject(new AppError('BAD_REQUEST', 'The body is incomplete: the connection broke.'));
    });
    req.on('error', (error) =>
      reject(new AppError('BAD_REQUEST', 'The body is incomplete: the connection broke.', { cause: error })),
    );
  });
}
