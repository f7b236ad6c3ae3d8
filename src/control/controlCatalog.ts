import type { Catalog, Column, Relation, Table } from '../db/catalog/catalog.js';
import { columnType } from '../db/catalog/types.js';
import type * as declared from './derive/declaration.js';
import { isId } from './derive/objectTypes.js';
import { OBJECTS } from './objects/index.js';

/** The control tables for the list compiler: anything missing here can't be read, filtered by or ordered by. */
export const CONTROL_CATALOG: Catalog = {
  version: 'control',
  schema: 'rowpost',
  problems: [],
  tables: new Map(OBJECTS.map((object) => [object.table, tableOf(object)])),
};

function tableOf(object: declared.ControlObject): Table {
  const { table, key, columns, relations = {} } = object;
  const filtered = Object.entries(columns).filter(([, column]) => isFiltered(column));
  const byName = new Map(
    filtered.map(([name, column]) => [name, columnOf(name, column, isId(object, name))]),
  );
  const shown = Object.entries(columns).flatMap(([name, { shows }]) =>
    shows ? [[name, shows] as const] : [],
  );
  return {
    name: table,
    schema: 'rowpost',
    sqlName: table,
    kind: 'table',
    columns: byName,
    primaryKey: key.flatMap((name) => byName.get(name) ?? []),
    relations: new Map(
      [...Object.entries(relations), ...shown].map(([field, related]) => [field, relationOf(field, related)]),
    ),
  };
}

function isFiltered({ internal, inputOnly, secret, shows }: declared.Column): boolean {
  return !internal && !inputOnly && !secret && !shows;
}

function columnOf(name: string, { type, searchedAs }: declared.Column, inPrimaryKey: boolean): Column {
  const array = type.endsWith('[]');
  const sqlType = array ? type.slice(0, -2) : type;
  return {
    name,
    sqlName: name,
    type: columnType({ name: sqlType, sqlType, typtype: 'b', array, enumLabels: null }),
    nullable: !inPrimaryKey,
    hasDefault: false,
    generated: false,
    inPrimaryKey,
    inForeignKey: false,
    // Conditions on any column cost no more than those that isolate tenants, which come first.
    indexed: true,
    ...(searchedAs === undefined ? {} : { searchedAs }),
  };
}

function relationOf(field: string, { kind, target, pairs, through }: declared.Related): Relation {
  if (kind !== 'many-to-many') return { kind, field, target, pairs: columnPairs(pairs) };
  if (!through) throw new Error(`${field} leads through no table`);
  const [nearPairs, farPairs] = [columnPairs(pairs), columnPairs(through.pairs)];
  return { kind, field, target, through: through.table, nearPairs, farPairs };
}

function columnPairs(pairs: declared.Pairs): { here: string; there: string }[] {
  return Object.entries(pairs).map(([here, there]) => ({ here, there }));
}
