import { setImmediate } from 'node:timers/promises';
import { endOfString } from 'rowpost-jinja2/jsonReader';
import type { Catalog, ColumnType } from '../db/catalog/catalog.js';
import type { PrincipalSource } from '../db/roles/principal.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import { complete, type Steps } from '../graphql/steps.js';
import { changeOutsideStrings, membersOf, objectsOf } from '../foundation/json/jsonText.js';
import type { EmailTrigger } from './email.js';

export interface MarkDeps {
  readonly engine: Pick<DataEngine, 'catalog'>;
  readonly principals: Pick<PrincipalSource, 'load'>;
}

/** Marks a Decimal for templates: an exponent that doesn't change the value, and that PostgreSQL never prints. */
const MARK = 'E0';

/**
 * A trigger's records as templates read them. Each value of a `numeric` column is marked, so that its digits are kept: in JSON it
 * looks like `double precision`. Bytes are in base64, as in the results of queries. Uses the table's current columns.
 */
export async function recordsForTemplates(
  { engine, principals }: MarkDeps,
  trigger: EmailTrigger,
): Promise<Pick<EmailTrigger, 'new' | 'old'>> {
  const { tenantid, queryRoleid, target } = trigger;
  if (target === null || (trigger.new === null && trigger.old === null)) return trigger;
  const schema = (await principals.load(tenantid, queryRoleid))?.schema ?? null;
  if (schema === null) return trigger;
  const columns = markedColumns(await engine.catalog(tenantid, schema), target);
  if (columns.size === 0) return trigger;
  const marked = (record: string | null) =>
    record === null ? null : runApart(markedInSteps(record, columns));
  return { new: await marked(trigger.new), old: await marked(trigger.old) };
}

/** Lets the event loop run between the steps: a row may have a million numbers. */
async function runApart<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await setImmediate();
  }
}

/** Those that are numeric or bytes, or hold a numeric. */
function markedColumns(catalog: Catalog, target: string): MarkedMembers {
  const columns = [...(catalog.tables.get(target)?.columns.values() ?? [])];
  return new Map(columns.filter(({ type }) => isMarked(type)).map(({ sqlName, type }) => [sqlName, type]));
}

type MarkedType = Pick<ColumnType, 'kind' | 'fields' | 'holdsNumeric'>;
type MarkedMembers = ReadonlyMap<string, MarkedType>;

const isMarked = ({ kind, holdsNumeric }: MarkedType): boolean =>
  kind === 'numeric' || kind === 'bytea' || holdsNumeric === true;

const MARKED = /(?<=\d)E0(?=[\s,\]}]|$)/g;

/** Marks the numbers that are values of these members, or in lists that are, in a JSON object's text. */
export function markNumbers(json: string, members: MarkedMembers): string {
  return complete(markedInSteps(json, members));
}

function* markedInSteps(json: string, members: MarkedMembers): Steps<string> {
  let marked = '';
  let from = 0;
  for (const { name, start, end } of membersOf(json)) {
    const type = members.get(name);
    if (!type) continue;
    marked += json.slice(from, start) + (yield* markedOfType(json.slice(start, end), type));
    from = end;
  }
  return marked + json.slice(from);
}

/** @param json a value of the type, or a list of them */
function* markedOfType(json: string, { kind, fields }: MarkedType): Steps<string> {
  if (kind === 'bytea') return json.replace(HEXADECIMAL, (_text, hex: string) => base64(hex));
  if (!fields) return yield* markedValue(json);
  // Queries show bytes within a row type as PostgreSQL does.
  const members = new Map([...fields].filter(([, type]) => type.kind !== 'bytea' && isMarked(type)));
  let marked = '';
  let from = 0;
  let restedAt = 0;
  for (const { start, end } of objectsOf(json)) {
    if (start - restedAt > STEP_CHARACTERS) {
      yield;
      restedAt = start;
    }
    marked += json.slice(from, start) + (yield* markedInSteps(json.slice(start, end), members));
    from = end;
  }
  return marked + json.slice(from);
}

/** Bytes as events record them, as a JSON string. */
const HEXADECIMAL = /"\\\\x([0-9a-f]*)"/g;

const base64 = (hex: string): string => JSON.stringify(Buffer.from(hex, 'hex').toString('base64'));

/** Characters that are read in one step. */
const STEP_CHARACTERS = 50_000;

const QUOTE = 0x22;
const MINUS = 0x2d;
const POINT = 0x2e;
/** What numbers that PostgreSQL does not print for `numeric` have, or words. */
const WORD = /[A-Za-z_+]/;

/** Marks what PostgreSQL prints for `numeric`: digits, with a sign and a point perhaps. A list has a million of them. */
function* markedValue(json: string): Steps<string> {
  const parts: string[] = [];
  let from = 0;
  let word: { isNumber: boolean; points: number } | undefined;
  let isAfterDigit = false;
  let restedAt = 0;
  for (let at = 0; at <= json.length; at++) {
    const code = at < json.length ? json.charCodeAt(at) : QUOTE;
    const isDigit = code >= 0x30 && code <= 0x39;
    if (isDigit) word ??= { isNumber: true, points: 0 };
    else if (code === MINUS) word = { isNumber: word === undefined, points: 0 };
    else if (code === POINT)
      word = { isNumber: word?.isNumber === true && word.points === 0 && isAfterDigit, points: 1 };
    else if (WORD.test(json.charAt(at))) word = { isNumber: false, points: 0 };
    else {
      if (word?.isNumber === true && isAfterDigit) {
        parts.push(json.slice(from, at));
        from = at;
      }
      word = undefined;
      if (at < json.length && code === QUOTE) at = endOfString(json, at) - 1;
      if (at - restedAt > STEP_CHARACTERS) {
        yield;
        restedAt = at;
      }
    }
    isAfterDigit = isDigit;
  }
  parts.push(json.slice(from));
  return parts.join(MARK);
}

/** The text without any marks. */
export function removeMarks(json: string): string {
  return changeOutsideStrings(json, (text) => text.replace(MARKED, ''));
}
