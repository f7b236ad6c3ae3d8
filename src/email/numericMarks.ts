import type { Catalog } from '../db/catalog/catalog.js';
import type { PrincipalSource } from '../db/principal.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import { changeOutsideStrings, membersOf } from '../jsonText.js';
import type { EmailTrigger } from './email.js';

export interface MarkDeps {
  readonly engine: Pick<DataEngine, 'catalog'>;
  readonly principals: Pick<PrincipalSource, 'load'>;
}

/** Marks a Decimal for templates: an exponent that doesn't change the value, and that PostgreSQL never prints. */
const MARK = 'E0';

/**
 * Marks each value of a `numeric` column in a trigger's records, so that templates keep its digits; in JSON it looks like
 * `double precision`. Uses the table's current columns.
 */
export async function markedRecords(
  { engine, principals }: MarkDeps,
  trigger: EmailTrigger,
): Promise<Pick<EmailTrigger, 'new' | 'old'>> {
  const { tenantid, queryRoleid, target } = trigger;
  if (target === null || (trigger.new === null && trigger.old === null)) return trigger;
  const schema = (await principals.load(tenantid, queryRoleid))?.schema ?? null;
  if (schema === null) return trigger;
  const columns = numericColumns(await engine.catalog(tenantid, schema), target);
  if (columns.size === 0) return trigger;
  const marked = (record: string | null) => (record === null ? null : markNumbers(record, columns));
  return { new: marked(trigger.new), old: marked(trigger.old) };
}

function numericColumns(catalog: Catalog, target: string): ReadonlySet<string> {
  const columns = [...(catalog.tables.get(target)?.columns.values() ?? [])];
  return new Set(columns.filter(({ type }) => type.kind === 'numeric').map(({ sqlName }) => sqlName));
}

/** As PostgreSQL prints values of `numeric`. */
const NUMBER = /(?<![\w.+-])-?\d+(?:\.\d+)?(?![\w.+-])/g;
const MARKED = /(?<=\d)E0(?=[\s,\]}]|$)/g;

/** Marks the numbers that are values of these members, or in lists that are, in a JSON object's text. */
export function markNumbers(json: string, members: ReadonlySet<string>): string {
  let marked = '';
  let from = 0;
  for (const { name, start, end } of membersOf(json)) {
    if (!members.has(name)) continue;
    const value = changeOutsideStrings(json.slice(start, end), (text) => text.replace(NUMBER, `$&${MARK}`));
    marked += json.slice(from, start) + value;
    from = end;
  }
  return marked + json.slice(from);
}

/** The text without any marks. */
export function withoutMarks(json: string): string {
  return changeOutsideStrings(json, (text) => text.replace(MARKED, ''));
}
