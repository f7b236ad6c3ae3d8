import { GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import type { Column, Table } from '../../db/catalog/catalog.js';
import { join, sql, wholeNumber, type Sql } from '../../db/sql/sql.js';
import { rowKey } from '../../graphql/files/rowKey.js';
import { columnSql, tableSql, where } from '../../graphql/read/tableSql.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import { parseJson } from '../../foundation/json/losslessJson.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { requireEmailEditor } from '../permissions.js';
import { newestFirst, readRowsOf, requireReadable, type ReadableRows } from './currentRow.js';

const MAX_ROWS = 100;
const LABEL_COLUMNS = 3;
const LABEL_CHARACTERS = 40;

const rowType = new GraphQLObjectType<RecentRow, ControlContext>({
  name: 'recent_row',
  fields: {
    key: {
      type: new GraphQLNonNull(SCALARS.GenericScalar),
      description: 'The key: an object of values by column.',
    },
    label: {
      type: new GraphQLNonNull(GraphQLString),
      description: 'Values of the first columns outside the key, for display.',
    },
  },
});

interface RecentRow {
  readonly key: unknown;
  readonly label: string;
}

/** `Utility.recent_rows`. Throws AppError PERMISSION_DENIED, UNKNOWN_TABLE. */
export const recentRows: ControlField<{ readonly target: string }> = {
  type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(rowType))),
  description: `The last ${MAX_ROWS} rows of a table in key order that the caller may read, to choose one for a preview; empty if it has no primary key.`,
  args: { target: { type: new GraphQLNonNull(GraphQLString) } },
  resolve: async (_source, { target }, context): Promise<readonly RecentRow[]> => {
    const schema = requireEmailEditor(context.principal);
    const { table, rows: readable } = await requireReadable(context, schema, target);
    if (table.primaryKey.length === 0) return [];
    const reservation = context.deps.engine.responses.open(context.principal.tenantid);
    try {
      const rows = await readRowsOf(context, rowsSql(table, readable), reservation);
      return rows.map(([key, label]) => ({ key: parseJson(key ?? ''), label: label ?? '' }));
    } finally {
      reservation.release();
    }
  },
};

function rowsSql(table: Table, readable: ReadableRows): Sql {
  const row = sql`t`;
  const shown = [...table.columns.values()].filter(isReadable).slice(0, LABEL_COLUMNS);
  const parts = shown.map(
    (column) =>
      sql`pg_catalog.left(${columnSql(row, column)}::pg_catalog.text, ${wholeNumber(LABEL_CHARACTERS)})`,
  );
  const label = parts.length === 0 ? sql`''` : sql`pg_catalog.concat_ws(', ', ${join(parts)})`;
  return sql`select ${rowKey(table, row)}::pg_catalog.text, ${label} from ${tableSql(table)} ${row}
    ${where([readable])} ${newestFirst(table)} limit ${wholeNumber(MAX_ROWS)}`;
}

/** Whether people can read values of the column's type. */
function isReadable({ inPrimaryKey, type: { kind, array } }: Column): boolean {
  return !inPrimaryKey && !array && kind !== 'json' && kind !== 'bytea';
}
