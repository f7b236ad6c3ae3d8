import { setImmediate } from 'node:timers/promises';
import { GraphQLBoolean, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { readCapturedTables } from '../../db/capture/capture.js';
import type { Column, Relation } from '../../db/catalog/catalog.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { isWritable } from '../../graphql/write/writable.js';
import { requireKnownTables } from '../derive/references.js';
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
    kind: {
      ...text,
      description:
        'How values are compared and written: integer, bigint, float, numeric, boolean, text, uuid, date, time, timestamp, timestamptz, interval, json, bytea, enum or other; of the items, for a list.',
      resolve: ({ type }) => type.kind,
    },
    is_list: { ...flag, resolve: ({ type }) => type.array },
    labels: {
      type: new GraphQLList(new GraphQLNonNull(GraphQLString)),
      description: 'The values of an enum, in its order; null for other types.',
      resolve: ({ type: { enumLabels } }, _args, { values }) =>
        enumLabels ? values.keep('', [...enumLabels]) : null,
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
  readonly columns: readonly Column[];
  readonly relations: readonly Relation[];
}

/** Lets the event loop run between the lists of two tables: there may be 100,000 columns, of a few microseconds each. */
function apart<T>({ serialize, values }: ControlContext, list: readonly T[]): Promise<readonly T[]> {
  return serialize(async () => {
    await setImmediate();
    return values.keep('', list) as readonly T[];
  });
}

const tableType = new GraphQLObjectType<DescribedTable, ControlContext>({
  name: 'table_description',
  fields: {
    name: text,
    kind: { ...text, description: '`table` or `view`.' },
    writable: {
      ...flag,
      description: 'Whether rows can be written by mutations.',
    },
    writers: {
      type: writersType,
      description: 'Whose changes become events; null for views and tables without a primary key.',
    },
    columns: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(columnType))),
      resolve: ({ columns }, _args, context) => apart(context, columns),
    },
    relations: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(relationType))),
      resolve: ({ relations }, _args, context) => apart(context, relations),
    },
  },
});

/** `Utility.tables`. Throws AppError PERMISSION_DENIED, UNKNOWN_TABLE. */
export const tablesField: ControlField<{ readonly name?: string | null }> = {
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
    return tables.map((table) => {
      const { kind, primaryKey, columns, relations } = table;
      return {
        name: table.name,
        kind,
        writable: isWritable(table),
        writers: primaryKey.length > 0 ? (captured.has(table.sqlName) ? 'all' : 'api') : null,
        columns: [...columns.values()],
        relations: [...relations.values()],
      };
    });
  },
};
