import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { textOf, type Values } from './formValues.js';

export const STATES = [
  'pending',
  'sending',
  'retrying',
  'paused',
  'sent',
  'failed',
  'skipped',
  'unknown',
] as const;

/** States of deliveries with an error code, which PostgreSQL finds with an index however many were sent. */
export const STATES_WITH_ERROR: ReadonlySet<string> = new Set([
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

/** The conditions of a search except its period. Throws AppError BAD_USER_INPUT. */
export function conditionsOf({ to, subject, state, code, type, rule, table, key, event }: Search): string[] {
  const conditions: string[] = [];
  if (to !== '') conditions.push(recipientCondition(to));
  if (subject !== '') conditions.push(`subject ilike ${literal(containing(subject))}`);
  if (STATES_WITH_ERROR.has(state)) conditions.push('error_code is not null');
  if (state !== '') conditions.push(`state = ${literal(state)}`);
  if (code !== '') conditions.push(`error_code = ${literal(code)}`);
  if (type !== '') conditions.push(`email_type = ${literal(type)}`);
  if (rule !== '') conditions.push(`ruleid = ${literal(readNumber(rule, 'The rule'))}`);
  if (table !== '') conditions.push(`target = ${literal(table)}`);
  if (key !== '') conditions.push(keyCondition(key));
  if (event !== '') conditions.push(`email_event_collection.event = ${literal(event)}`);
  return conditions;
}

/** A suppressed email has no recipients; its error names the intended ones. */
function recipientCondition(to: string): string {
  const pattern = literal(containing(to));
  return `(recipients ilike ${pattern} or error_code in ['SUPPRESSED', 'UNSUBSCRIBED'] and error ilike ${pattern})`;
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
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
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
