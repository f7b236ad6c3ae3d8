import {
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  type GraphQLFieldConfigMap,
  type GraphQLOutputType,
} from 'graphql';
import type { Catalog, Column, ColumnType, Table } from '../../db/catalog/catalog.js';
import { scalarOf } from '../../db/catalog/types.js';
import { AGGREGATES_TYPE } from '../aggregates/aggregatesType.js';
import { fileMutationFields, filesField, FILES_FIELD } from '../files/fileTypes.js';
import { keyArgs } from '../write/keyArgs.js';
import { isWritable, writableColumns } from '../write/writable.js';
import { ID, SCALARS } from './scalars.js';

/** The arguments of every list. */
export const LIST_ARGS: GraphQLFieldConfigArgumentMap = {
  filter: { type: GraphQLString },
  ordering: { type: new GraphQLList(GraphQLString) },
  limit: { type: SCALARS.Int },
  offset: { type: SCALARS.Int },
};

const CAST = new GraphQLEnumType({
  name: 'Cast',
  description: 'An alternative representation of a value.',
  values: { text: { description: 'A string with all digits.' } },
});
const ON_CONFLICT = new GraphQLEnumType({
  name: 'OnConflict',
  description: 'What to do if a row with the same key exists.',
  values: { fail: {}, update: {}, ignore: {} },
});
const UTILITY = new GraphQLObjectType({
  name: 'Utility',
  fields: {
    introspect: {
      type: SCALARS.GenericScalar,
      description: 'Reloads the tables and returns the schema: `{gql, json: {__schema}}`.',
    },
  },
});

/** The GraphQL schema of a tenant's tables. It has no resolvers: requests are compiled to SQL. */
export function buildDataSchema(catalog: Catalog): GraphQLSchema {
  const types = new Map<string, TableTypes>();
  for (const table of catalog.tables.values()) types.set(table.name, tableTypes(table, types));
  const mutations = mutationFields(catalog, types);
  return new GraphQLSchema({
    query: new GraphQLObjectType({ name: 'Query', fields: queryFields(catalog, types) }),
    mutation:
      Object.keys(mutations).length > 0
        ? new GraphQLObjectType({ name: 'Mutation', fields: mutations })
        : null,
    // The catalog has already made all names legal.
    assumeValid: true,
  });
}

interface TableTypes {
  readonly object: GraphQLObjectType;
  readonly input: GraphQLInputObjectType | undefined;
}

type Field = GraphQLFieldConfig<unknown, unknown>;
type Fields = GraphQLFieldConfigMap<unknown, unknown>;

function tableTypes(table: Table, types: ReadonlyMap<string, TableTypes>): TableTypes {
  return {
    object: new GraphQLObjectType({ name: table.name, fields: () => objectFields(table, types) }),
    input: isWritable(table)
      ? new GraphQLInputObjectType({ name: `${table.name}Input`, fields: () => inputFields(table) })
      : undefined,
  };
}

function objectFields(table: Table, types: ReadonlyMap<string, TableTypes>): Fields {
  const fields = new Map<string, Field>();
  for (const column of table.columns.values()) fields.set(column.name, columnField(column));
  if (table.fileColumn && !fields.has(FILES_FIELD)) fields.set(FILES_FIELD, filesField);
  for (const relation of table.relations.values()) {
    const target = types.get(relation.target)?.object;
    if (!target) continue;
    fields.set(
      relation.field,
      relation.kind === 'to-one' ? { type: target } : { type: new GraphQLList(target), args: LIST_ARGS },
    );
  }
  return Object.fromEntries(fields);
}

function columnField(column: Column): GraphQLFieldConfig<unknown, unknown> {
  if (column.inPrimaryKey) return { type: new GraphQLNonNull(ID) };
  const scalar = scalarOf(column.type);
  const base: GraphQLOutputType = SCALARS[scalar];
  if (column.type.array) return { type: listOf(base, column.type) };
  return scalar === 'BigInt' || scalar === 'Decimal'
    ? { type: base, args: { cast: { type: CAST } } }
    : { type: base };
}

function inputFields(table: Table): Record<string, { type: GraphQLInputType }> {
  return Object.fromEntries(
    writableColumns(table).map((column) => [column.name, { type: inputType(column) }]),
  );
}

type GraphQLInputType =
  GraphQLInputObjectType | GraphQLList<GraphQLInputType> | (typeof SCALARS)[keyof typeof SCALARS];

function inputType(column: Column): GraphQLInputType {
  if (column.inPrimaryKey) return ID;
  const scalar = SCALARS[scalarOf(column.type)];
  return column.type.array ? listOf(scalar, column.type) : scalar;
}

/** Nests one list per dimension. */
function listOf<T extends GraphQLOutputType>(
  item: T,
  { dimensions = 1 }: Pick<ColumnType, 'dimensions'>,
): GraphQLList<T> {
  const list = new GraphQLList(item);
  return dimensions === 1
    ? list
    : (listOf(list, { dimensions: dimensions - 1 }) as unknown as GraphQLList<T>);
}

function queryFields(catalog: Catalog, types: ReadonlyMap<string, TableTypes>): Fields {
  const fields = new Map<string, Field>();
  for (const table of catalog.tables.values()) {
    const object = types.get(table.name)?.object;
    if (object) fields.set(table.name, { type: new GraphQLList(object), args: LIST_ARGS });
  }
  fields.set('Aggregates', { type: AGGREGATES_TYPE }).set('Utility', { type: UTILITY });
  return Object.fromEntries(fields);
}

function mutationFields(catalog: Catalog, types: ReadonlyMap<string, TableTypes>): Fields {
  const fields = new Map<string, Field>();
  const fileTables: Table[] = [];
  for (const table of catalog.tables.values()) {
    const { object, input } = types.get(table.name) ?? {};
    if (!object || !input) continue;
    const onconflict = { type: ON_CONFLICT };
    fields.set(`create_${table.name}`, { type: object, args: { input: { type: input }, onconflict } });
    fields.set(`update_${table.name}`, {
      type: object,
      args: { ...keyArgs(table, 'update'), input: { type: input } },
    });
    fields.set(`delete_${table.name}`, { type: object, args: keyArgs(table, 'delete') });
    if (table.fileColumn) fileTables.push(table);
  }
  // A table named file_<t> has taken a name of theirs for its own delete_.
  for (const table of fileTables) {
    for (const [name, field] of Object.entries(fileMutationFields(table)))
      if (!fields.has(name)) fields.set(name, field);
  }
  for (const table of catalog.tables.values()) {
    const { object, input } = types.get(table.name) ?? {};
    const name = `create_many_${table.name}`;
    // A table named many_<t> has taken the name for its own create_.
    if (!object || !input || fields.has(name)) continue;
    const rows = new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(input)));
    fields.set(name, {
      type: new GraphQLList(object),
      args: { input: { type: rows }, onconflict: { type: ON_CONFLICT } },
    });
  }
  return Object.fromEntries(fields);
}
