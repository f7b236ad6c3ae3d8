import type { ServerResponse } from 'node:http';
import { explainControlError } from '../../db/sql/controlFailure.js';
import { AppError } from '../../foundation/errors.js';
import { InternalErrors } from '../../foundation/observability/internalErrors.js';
import type { Logger } from '../../foundation/observability/log.js';
import { recordOf } from './requestRecord.js';

/** The body of an HTTP-level failure: exactly these three keys, in this order. */
export function failureBody(error: AppError): string {
  return JSON.stringify({ error: error.message, status: error.status, code: error.code });
}

/** The public form of an error. Internal errors are logged with the id sent to the caller. */
export function explain(error: unknown, log: Logger, res: ServerResponse): AppError {
  // A malformed path, such as `/mailbox/%E0`.
  if (error instanceof URIError) return nothingHere();
  const known = explainControlError(error);
  if (known && known.code !== 'INTERNAL_ERROR') return known;
  const record = recordOf(res);
  reporterOf(log).report(error, 'a request failed', record?.tenantid, record?.id);
  return new AppError('INTERNAL_ERROR', 'Internal error.');
}

const reporters = new WeakMap<Logger, InternalErrors>();

/** One for each log, since all failures of a process share its limits. */
function reporterOf(log: Logger): InternalErrors {
  const reporter = reporters.get(log) ?? new InternalErrors(log);
  reporters.set(log, reporter);
  return reporter;
}

/** Sends a failure. If a response has already begun, breaks the connection, so that it can't be mistaken for complete. */
export function sendFailure(
  res: ServerResponse,
  error: AppError,
  headers: Readonly<Record<string, string>> = {},
): void {
  const record = recordOf(res);
  if (record) record.code = error.code;
  if (res.headersSent) {
    res.destroy();
    return;
  }
  sendJson(res, error.status, failureBody(error), { ...failureHeaders(res, error), ...headers });
}

/** What a failure's headers say, whether its body is JSON or a page. */
export function failureHeaders(res: ServerResponse, error: AppError): Readonly<Record<string, string>> {
  // The unread rest of a body must not be mistaken for the next request.
  const isUnread = error.code === 'BODY_TOO_LARGE' || res.req.isPaused();
  return {
    ...retryAfter(error),
    // RFC 9110, 15.5.2. Some HTTP clients fail with an error of their own if a 401 comes without a challenge.
    ...(error.status === 401 ? { 'www-authenticate': `${schemeOf(error)} realm="rowpost"` } : {}),
    ...(isUnread ? { connection: 'close' } : {}),
  };
}

/** Carriers that sign nothing have a name and a password in the URL. */
const schemeOf = ({ code }: AppError): string => (code === 'EVENT_PASSWORD_INVALID' ? 'Basic' : 'Bearer');

/** The headers that say when, or where, to retry. */
export function retryAfter({ code, details, retryAfterSeconds }: AppError): Readonly<Record<string, string>> {
  if (code === 'TENANT_MOVED') return { 'x-rowpost-cell': String(details['base_url']) };
  return retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
}

export function sendJson(
  res: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  res
    .writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      ...headers,
    })
    .end(body);
}

export const nothingHere = (): AppError => new AppError('NOT_FOUND', 'There is nothing at this address.');
