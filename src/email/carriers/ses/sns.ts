import { verify, X509Certificate, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../../foundation/errors.js';
import { ownValue } from '../../../foundation/ownValue.js';
import { HttpClient } from '../../../foundation/net/httpClient.js';
import { TenantLimiter } from '../../../foundation/limits/tenantLimiter.js';
import { textOf, type Json } from '../reports/events.js';
import {
  signatureInvalid,
  signatureMissing,
  parse,
  parseReport,
  requireAge,
  type Report,
  type ReadText,
  type VerifiedReport,
} from '../reports/webhook.js';

/** SNS retries a message with its original signature. */
const OLDEST_MS = 25 * 3_600_000;
const MAX_CERTIFICATES = 100;
/** Limits on fetches: a tenant may name certificates that don't exist, and has one at a time, so that another may have the other. */
const FETCHES = { max: 2, waiting: 50, waitMs: 10_000 };
const FETCH_MS = 5_000;
const ALGORITHMS: Readonly<Record<string, string>> = { '1': 'sha1', '2': 'sha256' };
export const TOPIC =
  /^arn:aws(?:-cn|-us-gov)?:sns:([a-z]{2,4}(?:-[a-z]{2,12}){1,3}-\d{1,2}):\d{12}:[\w-]{1,256}$/;

/** The signed fields, in this order; those that a message lacks are left out. */
const NOTIFICATION = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'];
const CONFIRMATION = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
const SIGNED: Readonly<Record<string, readonly string[]>> = {
  Notification: NOTIFICATION,
  SubscriptionConfirmation: CONFIRMATION,
  UnsubscribeConfirmation: CONFIRMATION,
};

/** Verifies messages from SNS, with certificates from its own host in the topic's region. */
export class SnsCheck {
  readonly #keys = new LRUCache<string, KeyObject>({ max: MAX_CERTIFICATES });
  readonly #limiter = new TenantLimiter(FETCHES);

  constructor(private readonly read: ReadText = readSns) {}

  /**
   * Throws AppError EVENT_SIGNATURE_MISSING, EVENT_SIGNATURE_INVALID, EVENT_SIGNATURE_EXPIRED, BAD_REQUEST.
   * @param topic the one that the tenant has named: messages of all topics are signed with the same key
   * @returns undefined if it is not a notification
   */
  async open(report: Report, topic: string | undefined): Promise<VerifiedReport | undefined> {
    const { body, tenantid, nowMs } = report;
    const message = await parseReport(report, 'anonymous');
    const { Type: type, TopicArn: arn, Signature: signature, SignatureVersion: version } = message;
    if (typeof signature !== 'string' || typeof message['SigningCertURL'] !== 'string')
      throw signatureMissing();
    requireAge(Date.parse(textOf(message['Timestamp'], 40) ?? ''), nowMs, OLDEST_MS);
    const fields = typeof type === 'string' ? ownValue(SIGNED, type) : undefined;
    const algorithm = ownValue(ALGORITHMS, String(version));
    if (topic === undefined || arn !== topic || !fields || algorithm === undefined) throw signatureInvalid();
    const key = await this.#keyAt(certificateUrl(message['SigningCertURL'], topic), tenantid);
    if (!verify(algorithm, Buffer.from(toSign(message, fields)), key, Buffer.from(signature, 'base64'))) {
      throw signatureInvalid();
    }
    if (type === 'SubscriptionConfirmation') await this.#confirm(topic, message['Token'], tenantid);
    if (type !== 'Notification') return undefined;
    return {
      items: [parse(textOf(message['Message'], body.length) ?? '')],
      reportId: textOf(message['MessageId'], 100) ?? '',
    };
  }

  async #keyAt(url: URL, tenantid: number): Promise<KeyObject> {
    const read = (): KeyObject | undefined => this.#keys.get(url.href);
    // A report that had to wait finds the certificate that an earlier one fetched.
    return read() ?? this.#limiter.run(tenantid, async () => read() ?? this.#fetchKey(url));
  }

  async #fetchKey(url: URL): Promise<KeyObject> {
    const pem = await this.#fetch(url);
    try {
      const { publicKey } = new X509Certificate(pem);
      this.#keys.set(url.href, publicKey);
      return publicKey;
    } catch {
      // It is not a certificate.
      throw signatureInvalid();
    }
  }

  /** SNS learns of a failure by the response, so that it sends the message again. */
  async #fetch(url: URL): Promise<string> {
    try {
      return await this.read(url);
    } catch (error) {
      throw new AppError('TOO_BUSY', 'SNS is not responding.', { cause: error });
    }
  }

  /** Uses an address of our own making; the one in the message is not followed. */
  async #confirm(topic: string, token: unknown, tenantid: number): Promise<void> {
    const url = new URL(`https://${hostOf(topic)}/`);
    url.searchParams.set('Action', 'ConfirmSubscription');
    url.searchParams.set('TopicArn', topic);
    url.searchParams.set('Token', textOf(token, 4_000) ?? '');
    await this.#limiter.run(tenantid, () => this.#fetch(url));
  }
}

function hostOf(topic: string): string {
  const region = TOPIC.exec(topic)?.[1] ?? '';
  return `sns.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

/** Throws AppError EVENT_SIGNATURE_INVALID for anywhere but the place where SNS keeps its certificates. */
function certificateUrl(given: string, topic: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const path = /^\/SimpleNotificationService-[0-9a-f]{16,64}\.pem$/;
  if (url?.href === `https://${hostOf(topic)}${url?.pathname}` && path.test(url.pathname)) return url;
  throw signatureInvalid();
}

function toSign(message: Json, fields: readonly string[]): string {
  return fields
    .filter((name) => typeof ownValue(message, name) === 'string')
    .map((name) => `${name}\n${ownValue(message, name) as string}\n`)
    .join('');
}

/** Certificates and responses have a few kilobytes. */
const SNS = new HttpClient({ allowPrivateNetwork: false, maxResponseBytes: 64 * 1024 });

async function readSns(url: URL): Promise<string> {
  const { status, text } = await SNS.call({ method: 'GET', url, headers: {} }, { deadlineMs: FETCH_MS });
  if (status === 200 && text !== undefined) return text;
  throw new Error(`SNS responded with ${status ?? 'nothing'}`);
}
