import {
  GraphQLBoolean,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
  type GraphQLFieldConfig,
} from 'graphql';
import { readCapturedTables } from '../../db/capture/capture.js';
import type { Column, Relation, Table } from '../../db/catalog/catalog.js';
import type { ControlContext } from '../controlContext.js';
import { requireKnownTables } from '../object/references.js';
import { requireTenantAdmin } from '../permissions.js';
import { writersType } from './capture.js';

const text = { type: new GraphQLNonNull(GraphQLString) };
const flag = { type: new GraphQLNonNull(GraphQLBoolean) };

const columnType = new GraphQLObjectType<Column, ControlContext>({
  name: 'table_column',
  fields: {
    name: text,
    type: {
      ...text,
      description: 'PostgreSQL type, such as `int4` or `text[]`.',
      resolve: ({ type: { sqlType, array } }) => `${sqlType.replace(/^"(\w+)"$/, '$1')}${array ? '[]' : ''}`,
    },
    nullable: flag,
    in_primary_key: { ...flag, resolve: ({ inPrimaryKey }) => inPrimaryKey },
  },
});

const relationType = new GraphQLObjectType<Relation, ControlContext>({
  name: 'table_relation',
  fields: {
    field: text,
    kind: { ...text, description: '`to-one`, `to-many` or `many-to-many`.' },
    target: { ...text, description: 'The related table.' },
  },
});

interface DescribedTable {
  readonly table: Table;
  readonly isCaptured: boolean;
}

const tableType = new GraphQLObjectType<DescribedTable, ControlContext>({
  name: 'table_description',
  fields: {
    name: { ...text, resolve: ({ table }) => table.name },
    kind: { ...text, description: '`table` or `view`.', resolve: ({ table }) => table.kind },
    writable: {
      ...flag,
      description: 'Whether rows can be written. Views and tables without a primary key are read-only.',
      resolve: ({ table }) => table.primaryKey.length > 0,
    },
    writers: {
      type: writersType,
      description: 'Whose changes become events; null if read-only.',
      resolve: ({ table, isCaptured }) => {
        if (table.primaryKey.length === 0) return null;
        return isCaptured ? 'all' : 'api';
      },
    },
    columns: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(columnType))),
      resolve: ({ table }) => [...table.columns.values()],
    },
    relations: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(relationType))),
      resolve: ({ table }) => [...table.relations.values()],
    },
  },
});

/** `Utility.tables`. Throws AppError PERMISSION_DENIED, UNKNOWN_TABLE. */
export const tablesField: GraphQLFieldConfig<unknown, ControlContext, { readonly name?: string | null }> = {
  type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(tableType))),
  description:
    "The tenant's tables and views, or only the one named: their columns, their relations, and whose changes become events.",
  args: { name: { type: GraphQLString } },
  resolve: async (_source, { name }, { principal, deps }) => {
    const schema = requireTenantAdmin(principal);
    const { tenantid } = principal;
    const catalog = await deps.engine.catalog(tenantid, schema);
    const tables = name == null ? [...catalog.tables.values()] : requireKnownTables(catalog, [name]);
    const captured = await readCapturedTables(deps.database.pool, tenantid);
    return tables.map((table) => ({ table, isCaptured: captured.has(table.sqlName) }));
  },
};
