import type { EmailEvent } from '../../../db/email/emailEvents.js';
import { comparable } from '../../addresses.js';
import { toPostgresText } from '../../../foundation/postgresText.js';
import { ExactNumber, isJsonObject } from '../../../foundation/json/losslessJson.js';
import { ownValue } from '../../../foundation/ownValue.js';

export const MAX_REASON_CHARACTERS = 1_000;
const MAX_URL_CHARACTERS = 2_000;
export const MAX_ID_CHARACTERS = 200;
export const MAX_TOKEN_CHARACTERS = 100;
const MAX_ADDRESS_CHARACTERS = 320;
const MAX_MAILBOX_CHARACTERS = 2_000;
const MAX_TIME_CHARACTERS = 40;
/** Each recipient gets an event with the texts of the whole report, which must not be multiplied without limit. */
export const MAX_RECIPIENTS = 1_000;
/** Plausible times: the oldest carrier was founded in 2009, and its clock may be off by a day. */
const EARLIEST_MS = 1_230_768_000_000;
const CLOCK_MS = 86_400_000;

export interface ReadEvents {
  /** Events about deliveries whose tenant is not checked yet. */
  readonly events: readonly EmailEvent[];
  /** Irrelevant, or not about a delivery of ours. */
  readonly ignored: number;
  /** Labeled with another tenant. */
  readonly foreign: number;
}

export type Json = Readonly<Record<string, unknown>>;

/** An event as reported by a carrier, unchecked. */
export interface GivenEvent {
  readonly deliveryid: unknown;
  readonly tenantid: unknown;
  /** Unique among the events of the delivery. */
  readonly id: string;
  readonly event: string;
  /** Milliseconds, or ISO 8601. */
  readonly time: unknown;
  readonly recipient: unknown;
  readonly reason?: unknown;
  readonly status?: unknown;
  /** Of a bounce: `blocked` concerns one email, `bounce` the mailbox. */
  readonly type?: unknown;
  readonly url?: unknown;
  /** Why the recipient gets no more email, null if it does; by default for what `causeOf` says. */
  readonly suppress?: Cause | null | undefined;
}
type Cause = NonNullable<EmailEvent['suppress']>['source'];

/** @param given undefined for irrelevant events */
export function checkEvents(
  given: readonly (GivenEvent | undefined)[],
  tenantid: number,
  nowMs: number,
): ReadEvents {
  const read = given.map((item) => item && checkEvent(item, tenantid, nowMs));
  const foreign = read.filter((item) => item === 'foreign').length;
  const events = read.filter((item) => item !== undefined && item !== 'foreign');
  return { events, foreign, ignored: given.length - events.length - foreign };
}

function checkEvent(given: GivenEvent, tenantid: number, nowMs: number): EmailEvent | 'foreign' | undefined {
  const deliveryid = textOf(given.deliveryid, MAX_TOKEN_CHARACTERS);
  const time = textOf(given.time, MAX_TIME_CHARACTERS) ?? '';
  const timeMs = typeof given.time === 'string' ? Date.parse(time) : Number(time);
  if (deliveryid === null || !/^\d{1,18}$/.test(deliveryid)) return undefined;
  if (!(timeMs >= EARLIEST_MS && timeMs <= nowMs + CLOCK_MS)) return undefined;
  if (textOf(given.tenantid, MAX_TOKEN_CHARACTERS) !== String(tenantid)) return 'foreign';
  const recipient = textOf(given.recipient, MAX_ADDRESS_CHARACTERS);
  const cause = given.suppress === undefined ? causeOf(given) : given.suppress;
  return {
    deliveryid,
    providerEventId: toPostgresText(given.id.slice(0, MAX_ID_CHARACTERS)),
    event: given.event,
    time: new Date(timeMs).toISOString(),
    recipient,
    reason: textOf(given.reason, MAX_REASON_CHARACTERS),
    status: textOf(given.status, MAX_TOKEN_CHARACTERS),
    type: given.event === 'bounce' ? textOf(given.type, MAX_TOKEN_CHARACTERS) : null,
    url: textOf(given.url, MAX_URL_CHARACTERS),
    suppress: cause && recipient !== null ? { address: comparable(recipient), source: cause } : null,
  };
}

/** A complaint, an unsubscription, and a bounce because there is no such mailbox end all email to the recipient. */
function causeOf({ event, type }: GivenEvent): Cause | null {
  if (event === 'spamreport' || event === 'unsubscribe') return event;
  return event === 'bounce' && type === 'bounce' ? 'bounce' : null;
}

/** An id for an event whose carrier gives it none: whatever tells it from others. */
export const idOf = (...parts: readonly unknown[]): string =>
  parts.map((part) => textOf(part, MAX_ID_CHARACTERS)).join(':');

/** A string or number as storable text, truncated; null for everything else. */
export function textOf(value: unknown, maxCharacters: number): string | null {
  if (typeof value === 'number' || value instanceof ExactNumber) return String(value).slice(0, maxCharacters);
  if (typeof value !== 'string' || value === '') return null;
  return toPostgresText(value.slice(0, maxCharacters));
}

export function objectOf(value: unknown): Json {
  return isJsonObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** The names of the ledger's events, by those of a carrier. */
export type Names = Readonly<Record<string, string>>;

export const nameIn = (names: Names, value: unknown): string | undefined =>
  typeof value === 'string' ? ownValue(names, value) : undefined;

/** `Ada <ada@example.com>` or the address alone. Undefined for anything longer than an address with a name. */
export function addressOf(recipient: unknown): string | undefined {
  if (typeof recipient !== 'string' || recipient.length > MAX_MAILBOX_CHARACTERS) return undefined;
  return /<([^<>]*)>\s*$/.exec(recipient)?.[1] ?? recipient;
}
