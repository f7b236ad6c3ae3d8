import type { MailEvent } from '../../db/delivery/mailEvents.js';
import { comparable } from '../../email/addresses.js';
import { storable } from '../../email/storableText.js';
import { AppError } from '../../errors.js';
import { ExactNumber, parseJson } from '../../losslessJson.js';

/** Events that are kept. Others (processed, unsubscribe, group_unsubscribe, …) say nothing about a delivery. */
const KEPT = new Set(['delivered', 'bounce', 'dropped', 'deferred', 'open', 'click', 'spamreport']);

const MAX_REASON_CHARACTERS = 1_000;
const MAX_URL_CHARACTERS = 2_000;
const MAX_ID_CHARACTERS = 200;
const MAX_WORD_CHARACTERS = 100;
const MAX_ADDRESS_CHARACTERS = 320;
/** The provider did not exist before 2009; its clock is right to a day. */
const EARLIEST_SECONDS = 1_230_768_000;
const CLOCK_SECONDS = 86_400;

export interface ReadEvents {
  /** About deliveries; whose they are is not known yet. */
  readonly events: readonly MailEvent[];
  /** Of no interest, or not about a delivery of ours. */
  readonly ignored: number;
  /** Said by themselves to be another tenant's. */
  readonly foreign: number;
}

/** Reads the body of a report: a JSON list of events. Throws AppError BAD_REQUEST. */
export function readSendgridEvents(text: string, tenantid: number, nowMs: number): ReadEvents {
  const list = parseList(text);
  const events: MailEvent[] = [];
  let foreign = 0;
  for (const item of list) {
    const read = typeof item === 'object' && item !== null ? readEvent(item, tenantid, nowMs) : undefined;
    if (read === 'foreign') foreign += 1;
    else if (read) events.push(read);
  }
  return { events, foreign, ignored: list.length - events.length - foreign };
}

function parseList(text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new AppError('BAD_REQUEST', 'The body is not valid JSON.', { cause: error });
  }
  if (!Array.isArray(value)) throw new AppError('BAD_REQUEST', 'The body is not a list of events.');
  return value;
}

type Given = Readonly<Record<string, unknown>>;

function readEvent(given: object, tenantid: number, nowMs: number): MailEvent | 'foreign' | undefined {
  const item = given as Given;
  const event = wordOf(item['event'], MAX_WORD_CHARACTERS);
  const deliveryid = wordOf(item['deliveryid'], MAX_WORD_CHARACTERS);
  const providerEventId = wordOf(item['sg_event_id'], MAX_ID_CHARACTERS);
  const seconds = Number(item['timestamp']);
  if (event === null || !KEPT.has(event)) return undefined;
  if (deliveryid === null || !/^\d{1,18}$/.test(deliveryid) || providerEventId === null) return undefined;
  if (!(seconds >= EARLIEST_SECONDS && seconds <= nowMs / 1000 + CLOCK_SECONDS)) return undefined;
  if (item['tenantid'] !== undefined && wordOf(item['tenantid'], MAX_WORD_CHARACTERS) !== String(tenantid)) {
    return 'foreign';
  }
  const recipient = wordOf(item['email'], MAX_ADDRESS_CHARACTERS);
  const reason =
    wordOf(item['reason'], MAX_REASON_CHARACTERS) ?? wordOf(item['response'], MAX_REASON_CHARACTERS);
  const type = event === 'bounce' ? wordOf(item['type'], MAX_WORD_CHARACTERS) : null;
  const source = suppressionSource(event, type, reason);
  return {
    deliveryid,
    providerEventId,
    event,
    time: new Date(seconds * 1000).toISOString(),
    recipient,
    reason,
    status: wordOf(item['status'], MAX_WORD_CHARACTERS),
    type,
    url: wordOf(item['url'], MAX_URL_CHARACTERS),
    suppress: source && recipient !== null ? { address: comparable(recipient), source } : null,
  };
}

/**
 * Whether an event says that more mail to the address would be unwelcome. A bounce of type `blocked` concerns this one
 * mail; mail is dropped for many reasons, two of which are that its address bounced or complained before.
 */
function suppressionSource(
  event: string,
  type: string | null,
  reason: string | null,
): 'bounce' | 'spamreport' | undefined {
  if (event === 'spamreport') return 'spamreport';
  if (event === 'bounce') return type === 'bounce' ? 'bounce' : undefined;
  if (event !== 'dropped' || reason === null) return undefined;
  if (/^bounced address/i.test(reason)) return 'bounce';
  return /^spam report/i.test(reason) ? 'spamreport' : undefined;
}

/** A text or number as text that can be stored, cut to a length; null for everything else. */
function wordOf(value: unknown, mostCharacters: number): string | null {
  if (typeof value === 'number' || value instanceof ExactNumber)
    return String(value).slice(0, mostCharacters);
  if (typeof value !== 'string' || value === '') return null;
  return storable(value.slice(0, mostCharacters));
}
