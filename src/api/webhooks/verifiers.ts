import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { WebhookKind } from '../../db/delivery/carrierWebhooks.js';
import { AppError } from '../../errors.js';
import { objectOf, type Json } from './eventFields.js';

/** A report as it came. */
export interface Report {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly nowMs: number;
}

/** A report that its carrier has signed. */
export interface VerifiedReport {
  readonly report: Json;
  readonly reportId: string;
  /** Of a signature that does not cover the report: both as hashes. */
  readonly once?: { readonly token: string; readonly report: string };
}

/**
 * Throws AppError EVENT_SIGNATURE_MISSING, EVENT_SIGNATURE_INVALID, EVENT_SIGNATURE_EXPIRED, BAD_REQUEST.
 * @param secret undefined when the tenant has none: no report fits
 */
export type Verifier = (report: Report, secret: string | undefined) => VerifiedReport;

const MINUTE_MS = 60_000;
/** Tolerated clock skew. */
const NEWEST_MS = 5 * MINUTE_MS;
/** Svix signs each attempt anew. */
const SVIX_OLDEST_MS = 5 * MINUTE_MS;
/** Mailgun tries for 8 hours, and may repeat its first signature. */
const MAILGUN_OLDEST_MS = 9 * 60 * MINUTE_MS;

/** Svix: HMAC-SHA256 of id, time and body; several signatures while a secret is being replaced. */
const verifyResend: Verifier = ({ headers, body, nowMs }, secret) => {
  const [id, timestamp, signatures] = ['svix-id', 'svix-timestamp', 'svix-signature'].map((name) =>
    textIn(headers, name),
  ) as [string, string, string];
  if (id === '' || timestamp === '' || signatures === '') throw missing();
  requireAge(Number(timestamp) * 1000, nowMs, SVIX_OLDEST_MS);
  const key = Buffer.from((secret ?? '').replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  const fits = signatures.split(' ', MAX_SIGNATURES).some((each) => isEqual(each, `v1,${expected}`));
  if (!fits || secret === undefined) throw invalid();
  return { report: parse(body), reportId: id };
};

const MAX_SIGNATURES = 10;

/** Mailgun: HMAC-SHA256 of time and token, in the body. */
const verifyMailgun: Verifier = ({ body, nowMs }, secret) => {
  const report = parse(body);
  const { timestamp, token, signature } = objectOf(report['signature']);
  if (typeof token !== 'string' || typeof signature !== 'string' || token === '') throw missing();
  if (typeof timestamp !== 'string' && typeof timestamp !== 'number') throw missing();
  requireAge(Number(timestamp) * 1000, nowMs, MAILGUN_OLDEST_MS);
  const expected = createHmac('sha256', secret ?? '')
    .update(String(timestamp) + token)
    .digest('hex');
  if (!isEqual(signature, expected) || secret === undefined) throw invalid();
  return {
    report,
    reportId: token,
    once: { token: sha256(`${timestamp}:${token}`), report: sha256(JSON.stringify(report['event-data'])) },
  };
};

/** Postmark signs nothing: the address that it is given holds a name and a password. */
const verifyPostmark: Verifier = ({ headers, body }, secret) => {
  const credentials = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(textIn(headers, 'authorization'))?.[1];
  if (credentials === undefined) throw missing();
  const password = /^[^:]*:(.*)$/s.exec(Buffer.from(credentials, 'base64').toString('utf8'))?.[1] ?? '';
  if (!isEqual(password, secret ?? '') || secret === undefined) throw invalid();
  return { report: parse(body), reportId: '' };
};

/** SES reports by SNS, whose signature is verified with a certificate: see sns.ts. */
export const VERIFIERS: Readonly<Record<Exclude<WebhookKind, 'ses'>, Verifier>> = {
  postmark: verifyPostmark,
  resend: verifyResend,
  mailgun: verifyMailgun,
};

/** Throws AppError BAD_REQUEST. Ids are strings here: no number is read exactly. */
export function parse(body: Buffer | string): Json {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  } catch (error) {
    throw new AppError('BAD_REQUEST', 'The body is not valid JSON.', { cause: error });
  }
  throw new AppError('BAD_REQUEST', 'The body is not a report.');
}

export function requireAge(signedAtMs: number, nowMs: number, oldestMs: number): void {
  const ageMs = nowMs - signedAtMs;
  if (ageMs <= oldestMs && ageMs >= -NEWEST_MS) return;
  throw new AppError('EVENT_SIGNATURE_EXPIRED', 'The report was signed too long ago, or in the future.');
}

export const missing = (): AppError => new AppError('EVENT_SIGNATURE_MISSING', 'The report is not signed.');
export const invalid = (): AppError =>
  new AppError('EVENT_SIGNATURE_INVALID', "The signature is not that of the tenant's webhook.");

/** In a time that tells nothing of where they differ. */
function isEqual(a: string, b: string): boolean {
  const [hashA, hashB] = [a, b].map((each) => createHash('sha256').update(each).digest());
  return hashA !== undefined && hashB !== undefined && timingSafeEqual(hashA, hashB);
}

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');

function textIn(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}
