import { fieldsOf, readCommonStatus, sentAs, wordsOf, type CarrierResponse } from '../exchangeOutcome.js';
import type { SendOutcome } from '../sending.js';

/** Interprets the response by the statuses that the carrier documents. */
export function readSendgridResponse(response: CarrierResponse): SendOutcome {
  const { status, headers, body } = response;
  const message = describeBody(response);
  if (status >= 200 && status < 300) return sentAs(headers['x-message-id'], status);
  if (status === 401) {
    const code = /credit/i.test(message) ? 'CREDITS_EXCEEDED' : 'APIKEY_REFUSED';
    return { kind: 'tenant_paused', httpStatus: status, code, message };
  }
  if (status === 403) {
    // This status means either a blocked account or an unverified sender address.
    return concernsSender(body)
      ? { kind: 'rejected', httpStatus: status, code: 'SENDER_NOT_VERIFIED', message }
      : { kind: 'tenant_paused', httpStatus: status, code: 'ACCOUNT_BLOCKED', message };
  }
  return readCommonStatus(response, message);
}

interface SendgridError {
  readonly message?: unknown;
  readonly field?: unknown;
}

function sendgridErrors(body: unknown): readonly SendgridError[] {
  const { errors } = fieldsOf(body);
  if (!Array.isArray(errors)) return [];
  return (errors as (SendgridError | null)[]).filter((item) => item !== null && typeof item === 'object');
}

/** The carrier's error messages; HTML pages and the like are useless to the tenant. */
export function describeBody({ status, body }: CarrierResponse): string {
  const words = sendgridErrors(body)
    .map((item) => (typeof item.message === 'string' ? item.message : ''))
    .filter((text) => text !== '')
    .join('; ');
  return wordsOf(words, status);
}

function concernsSender(body: unknown): boolean {
  return sendgridErrors(body).some(
    (item) =>
      item.field === 'from' || (typeof item.message === 'string' && /sender identity/i.test(item.message)),
  );
}
