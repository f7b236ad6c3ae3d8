import { createHash } from 'node:crypto';
import type { Catalog, Column, Relation, Table } from './catalog.js';
import type { RawSchema, RawTable } from './introspect.js';
import { fieldsOfComposites } from './composites.js';
import { graphqlName, keyArguments, NameScope } from './names.js';
import { deriveRelations } from './relations.js';
import { columnType } from './types.js';
import type { OwnerSettings } from './ownerSettings.js';

/** Assigns GraphQL names and relations to an introspected schema. */
export function buildCatalog(
  schema: string,
  raw: RawSchema,
  grantProblems: readonly string[] = [],
  settings?: OwnerSettings,
): Catalog {
  const problems = [...grantProblems];
  const tables = withoutHidden(raw.tables.filter((table) => table.columns.length > 0));
  for (const { name, hidden, foreignKeysElsewhere, temporalForeignKeys } of tables) {
    if (hidden.length > 0)
      problems.push(
        `${name} is read-only, without what the tenant's role may not read: ${hidden.join(', ')}`,
      );
    for (const key of foreignKeysElsewhere)
      problems.push(`${name}: the foreign key ${key} leads to a table that is not served, and is left out`);
    for (const key of temporalForeignKeys)
      problems.push(`${name}: the foreign key ${key} compares periods, not values, and is left out`);
  }
  const names = nameTables(tables, problems);
  const zoned = { isZoned: settings?.isZoned === true };
  const fieldsOf = fieldsOfComposites(raw.composites, zoned.isZoned);
  const columns = new Map(
    tables.map((table) => [table.name, buildColumns(table, fieldsOf, zoned, problems)]),
  );
  const taken = new Map([...columns].map(([table, byName]) => [table, new Set(byName.keys())]));
  const relations = deriveRelations(tables, names, taken, problems);
  const built = tables.map((table) =>
    buildTable(schema, table, names, columns.get(table.name), relations.get(table.name)),
  );
  reportTakenMutations(built, problems);
  reportTakenArguments(built, problems);
  reportComputedTables(built, problems);
  return {
    version: createHash('sha256')
      .update(raw.text + (settings ? JSON.stringify(settings) : ''))
      .digest('base64url')
      .slice(0, 16),
    schema,
    tables: new Map(built.map((table) => [table.name, table])),
    problems,
  };
}

/** Without the keys that contain a hidden column. */
function withoutHidden(tables: readonly RawTable[]): readonly RawTable[] {
  const hidden = new Map(
    tables.flatMap((table) => (table.hidden.length > 0 ? [[table.name, table.hidden]] : [])),
  );
  if (hidden.size === 0) return tables;
  const isShown = (table: string, columns: readonly string[]): boolean =>
    !columns.some((column) => hidden.get(table)?.includes(column));
  return tables.map((table) => ({
    ...table,
    keys: table.keys.filter(({ columns }) => isShown(table.name, columns)),
    foreignKeys: table.foreignKeys.filter(
      ({ columns, target, targetColumns }) => isShown(table.name, columns) && isShown(target, targetColumns),
    ),
  }));
}

/** Legal names are assigned first, so that they stay unchanged whatever else the schema contains. */
function nameTables(tables: readonly RawTable[], problems: string[]): Map<string, string> {
  const scope = NameScope.forTables();
  const names = new Map<string, string>();
  const [legal, awkward] = partition(tables, (table) => graphqlName(table.name) === table.name);
  for (const table of [...legal, ...awkward]) {
    const wanted = graphqlName(table.name);
    // The input type of one table may be the name of another: `x` and `xInput`.
    const base =
      wanted.endsWith('Input') && names.has(wanted.slice(0, -'Input'.length)) ? `${wanted}_` : wanted;
    const name = scope.take(base);
    if (name !== wanted) problems.push(`table ${table.name} is served as ${name}, its name being taken`);
    names.set(table.name, name);
  }
  return names;
}

function buildColumns(
  table: RawTable,
  fieldsOf: ReturnType<typeof fieldsOfComposites>,
  { isZoned }: { readonly isZoned: boolean },
  problems: string[],
): Map<string, Column> {
  const primary = table.keys.find((key) => key.primary)?.columns ?? [];
  const foreign = new Set(table.foreignKeys.flatMap((key) => key.columns));
  const legal = table.columns.filter((column) => graphqlName(column.name) === column.name);
  const scope = new NameScope(legal.map((column) => column.name));
  const columns = table.columns.map((raw): Column => {
    const wanted = graphqlName(raw.name);
    const name = wanted === raw.name ? raw.name : scope.take(wanted);
    if (name !== wanted)
      problems.push(`${table.name}: column ${raw.name} is served as ${name}, its name being taken`);
    return {
      name,
      sqlName: raw.name,
      type: columnType(raw.type, fieldsOf, isZoned),
      nullable: !raw.notNull,
      hasDefault: raw.hasDefault,
      generated: raw.generated,
      inPrimaryKey: primary.includes(raw.name),
      inForeignKey: foreign.has(raw.name),
      indexed: raw.indexed,
    };
  });
  return new Map(columns.map((column) => [column.name, column]));
}

function buildTable(
  schema: string,
  raw: RawTable,
  names: ReadonlyMap<string, string>,
  columns: ReadonlyMap<string, Column> = new Map(),
  relations: ReadonlyMap<string, Relation> = new Map(),
): Table {
  const bySqlName = new Map([...columns.values()].map((column) => [column.sqlName, column]));
  const isView = raw.kind === 'v' || raw.kind === 'm';
  const primary = isView ? [] : (raw.keys.find((key) => key.primary)?.columns ?? []);
  return {
    name: names.get(raw.name) ?? raw.name,
    schema,
    sqlName: raw.name,
    kind: isView ? 'view' : 'table',
    ...(raw.kind === 'p' ? { partitioned: true } : {}),
    ...(raw.hidden.length > 0 ? { hidesColumns: true } : {}),
    columns,
    primaryKey: primary.flatMap((name) => bySqlName.get(name) ?? []),
    uniqueKeys: raw.keys
      .filter((key) => !key.primary)
      .map(({ columns: names, nullsNotDistinct }) => ({
        columns: names.flatMap((name) => bySqlName.get(name) ?? []),
        nullsNotDistinct,
      })),
    constraints: new Map(raw.constraints.map(({ name, columns: names }) => [name, names])),
    relations,
    ...fileColumn(raw, bySqlName, isView),
  };
}

/** `create_many_x` creates rows of `x`, unless a table `many_x` has the name for its own `create_`. */
function reportTakenMutations(tables: readonly Table[], problems: string[]): void {
  const writable = new Set(tables.filter(({ primaryKey }) => primaryKey.length > 0).map(({ name }) => name));
  for (const name of writable) {
    if (!writable.has(`many_${name}`)) continue;
    problems.push(
      `${name}: there is no create_many_${name} for it, since that is the create_ of many_${name}`,
    );
  }
}

/** A key column may be named like another argument of the mutations that change the row. */
function reportTakenArguments(tables: readonly Table[], problems: string[]): void {
  for (const { name, primaryKey, fileColumn } of tables) {
    for (const mutation of fileColumn
      ? (['update', 'upload', 'delete_file'] as const)
      : (['update'] as const)) {
      const columns = primaryKey.map((column) => column.name);
      for (const [column, argument] of keyArguments(columns, mutation)) {
        if (argument !== column)
          problems.push(
            `${name}: ${mutation}_${name} takes the key ${column} as ${argument}, its name being taken`,
          );
      }
    }
  }
}

/** GraphQL has no input types without a field. */
function reportComputedTables(tables: readonly Table[], problems: string[]): void {
  for (const { name, primaryKey, columns } of tables) {
    if (primaryKey.length === 0 || [...columns.values()].some((column) => !column.generated)) continue;
    problems.push(`${name}: it is read-only, since PostgreSQL computes all of its columns`);
  }
}

/** A file table whose file column was dropped becomes an ordinary table. */
function fileColumn(
  raw: RawTable,
  columns: ReadonlyMap<string, Column>,
  isView: boolean,
): { readonly fileColumn?: Column } {
  const column = raw.fileColumn === null || isView ? undefined : columns.get(raw.fileColumn);
  return column ? { fileColumn: column } : {};
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
