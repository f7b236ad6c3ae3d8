import type { Column, Table } from '../../db/catalog/catalog.js';
import { membersOf } from '../../foundation/json/jsonText.js';
import type { FilterNode } from '../filter/syntax/tree.js';
import { pathsOf } from '../filter/syntax/walk.js';

export type RecordName = 'old' | 'new';

/** The columns of a record that a condition reads: those that it names, and the keys of the relations that it follows. */
export function columnsRead(tree: FilterNode, table: Table, record: RecordName): readonly Column[] {
  const bySqlName = new Map([...table.columns.values()].map((column) => [column.sqlName, column]));
  const read = new Set<Column | undefined>();
  for (const { names } of pathsOf(tree)) {
    const [root, name] = names;
    if (root !== record) continue;
    // Whether there is a record.
    if (name === undefined) {
      const columns = table.primaryKey.length > 0 ? table.primaryKey : [...table.columns.values()];
      for (const column of columns) read.add(column);
      continue;
    }
    if (names.length === 2) read.add(table.columns.get(name));
    const relation = table.relations.get(name);
    if (!relation) continue;
    const pairs = relation.kind === 'many-to-many' ? relation.nearPairs : relation.pairs;
    for (const { here } of pairs) read.add(bySqlName.get(here));
  }
  return [...read].filter((column) => column !== undefined);
}

/** The record with these columns only: PostgreSQL can't look into JSON in which any value has \u0000 or a lone surrogate. */
export function withColumns(record: string | null, columns: readonly Column[]): string | null {
  if (record === null) return null;
  const read = new Map(columns.map((column) => [column.sqlName, column]));
  const members = membersOf(record).flatMap(({ name, start, end }) => {
    const column = read.get(name);
    return column ? [`${JSON.stringify(name)}:${readable(record.slice(start, end), column)}`] : [];
  });
  return `{${members.join(',')}}`;
}

/** Events of release 0.1.0 have hstore as an object, by its cast to json: there is none from it. */
function readable(value: string, { type }: Column): string {
  if (!type.sqlType.endsWith('."hstore"') || !/^\[?\{/.test(value)) return value;
  const parsed = JSON.parse(value) as HstoreObject | (HstoreObject | null)[];
  return JSON.stringify(
    Array.isArray(parsed) ? parsed.map((item) => item && hstoreText(item)) : hstoreText(parsed),
  );
}

type HstoreObject = Readonly<Record<string, string | null>>;

function hstoreText(pairs: HstoreObject): string {
  const quote = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`;
  return Object.entries(pairs)
    .map(([key, value]) => `${quote(key)}=>${value === null ? 'NULL' : quote(value)}`)
    .join(', ');
}
