import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { textOf, type Values } from './formValues.js';

/** What people look for: the last thing known, as the API names it and as the console does. */
export const STATUSES: Readonly<Record<string, string>> = {
  scheduled: 'Scheduled',
  sending: 'Sending',
  sent: 'Sent',
  delivered: 'Delivered',
  opened: 'Opened',
  clicked: 'Clicked',
  bounced: 'Bounced',
  complained: 'Complained',
  unsubscribed: 'Unsubscribed',
  held_back: 'Held back',
  failed: 'Failed',
  unknown: 'Unknown',
};

/** Statuses of emails that have not left, as far as known. */
export const UNSENT: ReadonlySet<string> = new Set([
  'scheduled',
  'sending',
  'held_back',
  'failed',
  'unknown',
]);

/** Those that always have an error code. */
const STATUSES_WITH_ERROR: ReadonlySet<string> = new Set(['held_back', 'failed', 'unknown']);

/** Statuses of emails that did not arrive or were not wanted, as carriers reported. */
export const TROUBLE_STATUSES: ReadonlySet<string> = new Set(['bounced', 'complained']);

/** The reports that make these statuses. */
const EVENTS_OF: Readonly<Record<string, readonly string[]>> = {
  delivered: ['delivered'],
  opened: ['open'],
  clicked: ['click'],
  bounced: ['bounce', 'dropped'],
  complained: ['spamreport'],
  unsubscribed: ['unsubscribe', 'group_unsubscribe'],
};

/** States of deliveries with an error code, which PostgreSQL finds with an index however many were sent. */
const STATES_WITH_ERROR: ReadonlySet<string> = new Set([
  'retrying',
  'paused',
  'failed',
  'skipped',
  'unknown',
]);

/** Events that carriers report. */
export const EVENTS = [
  'delivered',
  'open',
  'click',
  'deferred',
  'bounce',
  'dropped',
  'spamreport',
  'unsubscribe',
] as const;

const PERIODS: Readonly<Record<string, { readonly label: string; readonly hours?: number }>> = {
  hour: { label: 'Last hour', hours: 1 },
  day: { label: 'Last 24 hours', hours: 24 },
  week: { label: 'Last 7 days', hours: 7 * 24 },
  month: { label: 'Last 30 days', hours: 30 * 24 },
  all: { label: 'Any time' },
};
const HOUR_MS = 3_600_000;
/** As choices of a form. */
export const PERIOD_CHOICES = Object.entries(PERIODS).map(([value, { label }]) => ({ value, label }));
const DEFAULT_PERIOD = 'week';

/** The fields of the search, as named in the URL. */
export const FIELDS = [
  'to',
  'subject',
  'status',
  'person',
  'state',
  'code',
  'type',
  'rule',
  'table',
  'key',
  'event',
  'within',
  'from',
  'until',
] as const;
export type Search = Readonly<Record<(typeof FIELDS)[number], string>>;

const MAX_LENGTH = 200;

export function readSearch(query: Values): Search {
  const search = Object.fromEntries(FIELDS.map((name) => [name, textOf(query, name, MAX_LENGTH)])) as Record<
    (typeof FIELDS)[number],
    string
  >;
  if (!Object.hasOwn(PERIODS, search.within)) search.within = DEFAULT_PERIOD;
  return search;
}

/** The search as a query string. */
export function searchAddress(search: Search, changes: Readonly<Record<string, string>> = {}): string {
  const values = Object.entries({ ...search, ...changes });
  const given = values.filter(
    ([name, value]) => value !== '' && !(name === 'within' && value === DEFAULT_PERIOD),
  );
  const text = new URLSearchParams(given).toString();
  return text === '' ? '' : `?${text}`;
}

/** The times of a search in whole hours, in which deliveries are counted: what the list shows is what the counts count. */
export interface Period {
  readonly since?: string;
  readonly until?: string;
}

/** Throws AppError BAD_USER_INPUT. */
export function periodOf({ within, from, until }: Search, nowMs = Date.now()): Period {
  if (from !== '' || until !== '') {
    return {
      ...(from !== '' && { since: hourOf(readTime(from, 'from'), Math.floor) }),
      ...(until !== '' && { until: hourOf(readTime(until, 'until'), Math.ceil) }),
    };
  }
  const hours = ownValue(PERIODS, within)?.hours;
  return hours === undefined ? {} : { since: hourOf(nowMs - hours * HOUR_MS, Math.floor) };
}

function hourOf(ms: number, round: (hours: number) => number): string {
  return new Date(round(ms / HOUR_MS) * HOUR_MS).toISOString();
}

/** The conditions of a period. The ids, which begin with the time when they were given out, let an index end where the period begins. */
export function conditionsOfPeriod({ since, until }: Period): readonly string[] {
  return [
    ...(since === undefined
      ? []
      : [`createtime >= ${literal(since)}`, `deliveryid >= ${literal(firstId(Date.parse(since)))}`]),
    ...(until === undefined ? [] : [`createtime < ${literal(until)}`]),
  ];
}

/** No delivery of a later change has a smaller id: see `delivery_number` in the schema. PostgreSQL's clock may have stepped back. */
function firstId(ms: number): string {
  return String(BigInt(Math.max(0, ms - HOUR_MS - ID_EPOCH_MS)) * 4096n);
}
const ID_EPOCH_MS = 1_600_000_000_000;

/** Several are separated by commas, as links of the overview have them. */
export function statusesOf({ status }: Search): readonly string[] {
  return status === '' ? [] : status.split(',');
}

/** Whether all statuses that the search is for are among these. */
function isOf(search: Search, statuses: ReadonlySet<string>): boolean {
  return search.status !== '' && statusesOf(search).every((status) => statuses.has(status));
}

/** Whether only deliveries with an error code match, which an index finds. */
function hasErrorCode(search: Search): boolean {
  const { state, code } = search;
  return isOf(search, STATUSES_WITH_ERROR) || STATES_WITH_ERROR.has(state) || code !== '';
}

/** One list of rows with the ids of deliveries, and the conditions by which an index gives them in their order. */
export interface IdList {
  readonly list: 'email_delivery' | 'email_event' | 'email_recipient';
  readonly conditions: readonly string[];
}

/**
 * The ways to find what a search is for by an index: each gives all deliveries that match, and others. Without a condition that an index
 * has, it is all deliveries.
 */
export function waysToFind(search: Search): readonly (readonly IdList[])[] {
  const { to, person, code, type, event } = search;
  const ofDeliveries = (condition: string): readonly IdList[] => [
    { list: 'email_delivery', conditions: [condition] },
  ];
  const ofReports = (events: readonly string[]): readonly IdList[] =>
    events.map((each) => ({ list: 'email_event', conditions: [`event = ${literal(each)}`] }));
  const address = person === '' ? wholeAddress(to) : person.toLowerCase();
  const reports = statusesOf(search).map((status) => ownValue(EVENTS_OF, status));
  const ways = [
    ...(address === undefined
      ? []
      : [[{ list: 'email_recipient', conditions: [`address = ${literal(address)}`] } as const]]),
    ...(reports.length > 0 && reports.every((events) => events !== undefined)
      ? [ofReports(reports.flat())]
      : []),
    ...(event === '' ? [] : [ofReports([event])]),
    ...(code === '' ? [] : [ofDeliveries(`error_code = ${literal(code)}`)]),
    ...(code === '' && hasErrorCode(search) ? [ofDeliveries('error_code is not null')] : []),
    ...(type === '' ? [] : [ofDeliveries(`email_type = ${literal(type)}`)]),
  ];
  return ways.length > 0 ? ways : [[{ list: 'email_delivery', conditions: [] }]];
}

/** The address, if the text looks like one as a whole: an index finds it, but no parts of addresses. */
function wholeAddress(text: string): string | undefined {
  return /^[^\s@<>]+@[^\s@<>]+\.[^\s@<>.]{2,}$/.test(text) ? text.toLowerCase() : undefined;
}

/** The conditions of a search except its period. Throws AppError BAD_USER_INPUT. */
export function conditionsOf(search: Search): string[] {
  const { to, person, subject, status, state, code, type, rule, table, key, event } = search;
  const conditions: string[] = [];
  if (to !== '')
    conditions.push(recipientCondition(wholeAddress(to) === undefined ? containing(to) : escaped(to), to));
  if (person !== '') conditions.push(recipientCondition(escaped(person), person));
  if (subject !== '') conditions.push(`subject ilike ${literal(containing(subject))}`);
  if (hasErrorCode(search)) conditions.push('error_code is not null');
  if (status !== '') conditions.push(`status in [${statusesOf(search).map(literal).join(', ')}]`);
  if (state !== '') conditions.push(`state = ${literal(state)}`);
  if (code !== '') conditions.push(`error_code = ${literal(code)}`);
  if (type !== '') conditions.push(`email_type = ${literal(type)}`);
  if (rule !== '') conditions.push(`ruleid = ${literal(readNumber(rule, 'The rule'))}`);
  if (table !== '') conditions.push(`target = ${literal(table)}`);
  if (key !== '') conditions.push(keyCondition(key));
  if (event !== '') conditions.push(`email_event_collection.event = ${literal(event)}`);
  return conditions;
}

/**
 * Only the error names those of a suppressed email that was recorded before its recipients were kept.
 * @param pattern of a name with its address, or of the address alone
 */
function recipientCondition(pattern: string, text: string): string {
  const before = `intended_recipients is null and error_code in ['SUPPRESSED', 'UNSUBSCRIBED']`;
  return `(intended_recipients ilike ${literal(pattern)} or ${before} and error ilike ${literal(containing(text))})`;
}

/** Matches if any column of the key has the value, as a number or as text. */
function keyCondition(key: string): string {
  const text = `translate(text(key), ' ', '')`;
  const values = [...(/^-?[\d.]+$/.test(key) ? [key] : []), JSON.stringify(key).replaceAll(' ', '')];
  const endings = values.flatMap((value) => [`:${value},`, `:${value}}`]);
  return `(${endings.map((ending) => `contains(${text}, ${literal(ending)})`).join(' or ')})`;
}

/** A string literal of the filter language. */
export function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** A LIKE pattern that matches text containing the given one literally. */
export function containing(text: string): string {
  return `%${escaped(text)}%`;
}

/** A LIKE pattern that matches this text only. */
function escaped(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

function readNumber(given: string, what: string): string {
  if (/^\d{1,18}$/.test(given)) return given;
  throw new AppError('BAD_USER_INPUT', `${what} must be a number.`, { hint: 'Correct it in the search.' });
}

/** Reads what `<input type="datetime-local">` sends, which is UTC here. @returns milliseconds */
function readTime(given: string, what: string): number {
  const time = new Date(/^\d{4}-\d\d-\d\d$/.test(given) ? given : `${given}Z`);
  if (!Number.isNaN(time.getTime()) && /^\d{4}-/.test(given)) return time.getTime();
  throw new AppError('BAD_USER_INPUT', `"${what}" is not a time.`, {
    hint: 'Write it as 2026-01-31T09:30, in UTC.',
  });
}
