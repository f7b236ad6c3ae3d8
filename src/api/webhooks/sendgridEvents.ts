import type { MailEvent } from '../../db/delivery/mailEvents.js';
import { comparable } from '../../email/addresses.js';
import { AppError } from '../../errors.js';
import { parseJson } from '../../losslessJson.js';
import {
  MAX_ADDRESS_CHARACTERS,
  MAX_ID_CHARACTERS,
  MAX_REASON_CHARACTERS,
  MAX_TOKEN_CHARACTERS,
  MAX_URL_CHARACTERS,
  textOf,
  type ReadEvents,
} from './eventFields.js';

/** Events that are recorded. Others, such as processed, add nothing to the ledger. */
const KEPT = new Set([
  'delivered',
  'bounce',
  'dropped',
  'deferred',
  'open',
  'click',
  'spamreport',
  'unsubscribe',
  'group_unsubscribe',
  'group_resubscribe',
]);

/** Plausible times: the provider was founded in 2009, and its clock may be off by a day. */
const EARLIEST_SECONDS = 1_230_768_000;
const CLOCK_SECONDS = 86_400;

/** Parses a report: a JSON list of events. Throws AppError BAD_REQUEST. */
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
  const event = textOf(item['event'], MAX_TOKEN_CHARACTERS);
  const deliveryid = textOf(item['deliveryid'], MAX_TOKEN_CHARACTERS);
  const providerEventId = textOf(item['sg_event_id'], MAX_ID_CHARACTERS);
  const seconds = Number(item['timestamp']);
  if (event === null || !KEPT.has(event)) return undefined;
  if (deliveryid === null || !/^\d{1,18}$/.test(deliveryid) || providerEventId === null) return undefined;
  if (!(seconds >= EARLIEST_SECONDS && seconds <= nowMs / 1000 + CLOCK_SECONDS)) return undefined;
  if (item['tenantid'] !== undefined && textOf(item['tenantid'], MAX_TOKEN_CHARACTERS) !== String(tenantid)) {
    return 'foreign';
  }
  const recipient = textOf(item['email'], MAX_ADDRESS_CHARACTERS);
  const reason =
    textOf(item['reason'], MAX_REASON_CHARACTERS) ?? textOf(item['response'], MAX_REASON_CHARACTERS);
  const type = event === 'bounce' ? textOf(item['type'], MAX_TOKEN_CHARACTERS) : null;
  const source = suppressionSource(event, type, reason);
  return {
    deliveryid,
    providerEventId,
    event,
    time: new Date(seconds * 1000).toISOString(),
    recipient,
    reason,
    status: textOf(item['status'], MAX_TOKEN_CHARACTERS),
    type,
    url: textOf(item['url'], MAX_URL_CHARACTERS),
    suppress: source && recipient !== null ? { address: comparable(recipient), source } : null,
  };
}

/**
 * Whether an event suppresses the address. A bounce of type `blocked` concerns only this mail; mail is dropped for many
 * reasons, two of which are an earlier bounce or complaint.
 */
function suppressionSource(
  event: string,
  type: string | null,
  reason: string | null,
): NonNullable<MailEvent['suppress']>['source'] | undefined {
  if (event === 'spamreport') return 'spamreport';
  if (event === 'unsubscribe' || event === 'group_unsubscribe') return 'unsubscribe';
  if (event === 'bounce') return type === 'bounce' ? 'bounce' : undefined;
  if (event !== 'dropped' || reason === null) return undefined;
  if (/^bounced address/i.test(reason)) return 'bounce';
  return /^spam report/i.test(reason) ? 'spamreport' : undefined;
}
