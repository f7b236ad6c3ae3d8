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

/** A filter of deliveries that were reported as not arrived or not wanted, which an index finds. */
export const IN_TROUBLE = "email_event_collection.event in ['bounce', 'dropped', 'spamreport']";
/** Statuses that only such deliveries have. */
export const TROUBLE_STATUSES: ReadonlySet<string> = new Set(['bounced', 'complained']);

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

const PERIODS: Readonly<Record<string, { readonly label: string; readonly interval?: string }>> = {
  hour: { label: 'Last hour', interval: '1 hour' },
  day: { label: 'Last 24 hours', interval: '1 day' },
  week: { label: 'Last 7 days', interval: '7 days' },
  month: { label: 'Last 30 days', interval: '30 days' },
  all: { label: 'Any time' },
};
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

/** Only the period of a search, for figures about everything in it. */
export function periodOf({ within, from, until }: Search): readonly string[] {
  if (from !== '' || until !== '') {
    return [
      ...(from === '' ? [] : [`createtime >= ${literal(readTime(from, 'from'))}`]),
      ...(until === '' ? [] : [`createtime < ${literal(readTime(until, 'until'))}`]),
    ];
  }
  const interval = ownValue(PERIODS, within)?.interval;
  return interval === undefined ? [] : [`createtime >= now() - interval(${literal(interval)})`];
}

/** Several are separated by commas, as links of the overview have them. */
export function statusesOf({ status }: Search): readonly string[] {
  return status === '' ? [] : status.split(',');
}

/** Whether all statuses that the search is for are among these. */
function isOf(search: Search, statuses: ReadonlySet<string>): boolean {
  return search.status !== '' && statusesOf(search).every((status) => statuses.has(status));
}

/** Whether only deliveries match that were reported as not arrived or not wanted. */
export function isTrouble(search: Search): boolean {
  return isOf(search, TROUBLE_STATUSES);
}

/** Whether only deliveries with an error code match, which an index finds. */
export function hasErrorCode(search: Search): boolean {
  const { state, code } = search;
  return isOf(search, STATUSES_WITH_ERROR) || STATES_WITH_ERROR.has(state) || code !== '';
}

/** The conditions of a search except its period. Throws AppError BAD_USER_INPUT. */
export function conditionsOf(search: Search): string[] {
  const { to, person, subject, status, state, code, type, rule, table, key, event } = search;
  const conditions: string[] = [];
  if (to !== '') conditions.push(recipientCondition(containing(to), to));
  if (person !== '') conditions.push(recipientCondition(escaped(person), person));
  if (subject !== '') conditions.push(`subject ilike ${literal(containing(subject))}`);
  if (hasErrorCode(search)) conditions.push('error_code is not null');
  if (isTrouble(search)) conditions.push(IN_TROUBLE);
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

/** Reads what `<input type="datetime-local">` sends, which is UTC here. */
function readTime(given: string, what: string): string {
  const time = new Date(/^\d{4}-\d\d-\d\d$/.test(given) ? given : `${given}Z`);
  if (!Number.isNaN(time.getTime()) && /^\d{4}-/.test(given)) return time.toISOString();
  throw new AppError('BAD_USER_INPUT', `"${what}" is not a time.`, {
    hint: 'Write it as 2026-01-31T09:30, in UTC.',
  });
}
