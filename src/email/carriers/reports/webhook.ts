import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../../foundation/errors.js';
import { isJsonObject } from '../../../foundation/json/losslessJson.js';
import { ownValue } from '../../../foundation/ownValue.js';
import type { GivenEvent, Json } from './events.js';

/** How a carrier reports what became of emails that it has accepted. */
export interface CarrierReports {
  /** What the tenant does at the carrier, for the console; docs/how-to/carriers.md has the details. */
  readonly steps: string;
  /** What reports are verified with, as the carrier calls it. */
  readonly secretName: string;
  /** Where the tenant sets it with `set_email_webhook`. */
  readonly secret?: {
    /** For people who use the API. */
    readonly doc: string;
    readonly pattern: RegExp;
    /** The rest of a sentence that begins with its name. */
    readonly rule: string;
  };
  open(options: ReportOptions): EventWebhook;
}

/** Fetches a text; rejects for anything but a short 200. */
export type ReadText = (url: URL) => Promise<string>;

export interface ReportOptions {
  /** By default from SNS itself. */
  readonly readSns?: ReadText | undefined;
}

/** What a carrier's event webhook is made of; `eventRoutes.ts` does the rest for all of them. */
export interface EventWebhook {
  readonly maxBodyBytes: number;
  /**
   * Throws AppError EVENT_PASSWORD_INVALID, EVENT_SIGNATURE_MISSING, EVENT_SIGNATURE_INVALID, EVENT_SIGNATURE_EXPIRED, BAD_REQUEST.
   * @param secret what the tenant's reports are verified with; undefined if it has set none: then no report is valid
   * @returns undefined if it is not a report
   */
  readonly verify: (
    report: Report,
    secret: string | undefined,
  ) => VerifiedReport | Promise<VerifiedReport | undefined>;
  readonly read: EventReader;
}

/** A report as it arrived. */
export interface Report {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** From the address it was sent to. */
  readonly tenantid: number;
  readonly nowMs: number;
  /** Parses a large body in turn with other work: the tenant's if it was verified before, otherwise that of anonymous clients. */
  readonly inTurn: (whose: 'tenant' | 'anonymous') => <T>(work: () => T) => Promise<T>;
}

/** A report that its carrier has signed. */
export interface VerifiedReport {
  /** The items of SendGrid's list; one item from every other carrier. */
  readonly items: readonly Json[];
  /** Used if its events have no ids of their own. */
  readonly reportId: string;
  /** For a signature that does not cover the report: hashes of its token, and of the one report it is accepted for. */
  readonly once?: { readonly token: string; readonly report: string };
}

/** Reads an item of a verified report, which was sent for the tenant. Gives undefined for irrelevant events. */
export type EventReader = (
  item: Json,
  report: { readonly reportId: string; readonly tenantid: number },
) => readonly (GivenEvent | undefined)[];

/** For reports of a single event, which have a few kilobytes. */
export const MAX_REPORT_BYTES = 512 * 1024;
/** Tolerated clock skew. */
const CLOCK_TOLERANCE_MS = 5 * 60_000;

/** Throws AppError BAD_REQUEST, TOO_BUSY. */
export const parseReport = ({ body, inTurn }: Report, whose: 'tenant' | 'anonymous'): Promise<Json> =>
  inTurn(whose)(() => parse(body));

/** For carriers that sign nothing: the URL that they are given contains a name and a password. Throws AppError EVENT_PASSWORD_INVALID. */
export const verifyPassword: EventWebhook['verify'] = async (report, secret) => {
  const credentials = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(headerOf(report.headers, 'authorization'))?.[1];
  const password = /^[^:]*:(.*)$/s.exec(Buffer.from(credentials ?? '', 'base64').toString('utf8'))?.[1];
  if (!isEqual(password ?? '', secret ?? '') || secret === undefined) {
    throw new AppError('EVENT_PASSWORD_INVALID', "The password is not that of the tenant's webhook.");
  }
  return { items: [await parseReport(report, 'tenant')], reportId: '' };
};

/** The password of such a URL. */
export const URL_PASSWORD = {
  doc: 'the password in the webhook URL, at least 16 characters',
  pattern: /^[A-Za-z0-9._~-]{16,200}$/,
  rule: 'must be a password of 16 to 200 letters, digits and . _ ~ -',
};

/** Throws AppError BAD_REQUEST. Ids are strings here: no number is read exactly. */
export function parse(body: Buffer | string): Json {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw new AppError('BAD_REQUEST', 'The body is not valid JSON.', { cause: error });
  }
  throw new AppError('BAD_REQUEST', 'The body is not a report.');
}

/** Throws AppError EVENT_SIGNATURE_EXPIRED. */
export function requireAge(signedAtMs: number, nowMs: number, oldestMs: number): void {
  const ageMs = nowMs - signedAtMs;
  if (ageMs <= oldestMs && ageMs >= -CLOCK_TOLERANCE_MS) return;
  const oldest = oldestMs < 3_600_000 ? `${oldestMs / 60_000} minutes` : `${oldestMs / 3_600_000} hours`;
  throw new AppError(
    'EVENT_SIGNATURE_EXPIRED',
    `The report was not signed within the last ${oldest}, by the clock of this server.`,
  );
}

export const signatureMissing = (): AppError =>
  new AppError('EVENT_SIGNATURE_MISSING', 'The report is not signed.');
export const signatureInvalid = (): AppError =>
  new AppError('EVENT_SIGNATURE_INVALID', "The signature is not that of the tenant's webhook.");

/** Takes the same time wherever they differ. */
export function isEqual(a: string, b: string): boolean {
  const [hashA, hashB] = [a, b].map((each) => createHash('sha256').update(each).digest());
  return hashA !== undefined && hashB !== undefined && timingSafeEqual(hashA, hashB);
}

export function headerOf(headers: IncomingHttpHeaders, name: string): string {
  const value = ownValue(headers, name);
  return typeof value === 'string' ? value : '';
}
