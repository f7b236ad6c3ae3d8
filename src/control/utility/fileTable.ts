import { GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import type { Column, Table } from '../../db/catalog/catalog.js';
import { setFileTable as storeFileTable } from '../../db/files/fileTables.js';
import { isWritable } from '../../graphql/write/writable.js';
import { requireKnownTables } from '../derive/references.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireTenantAdmin } from '../permissions.js';

const fileTableType = new GraphQLObjectType<FileTableArgs, ControlContext>({
  name: 'file_table',
  fields: {
    table_name: { type: GraphQLString },
    column_name: { type: GraphQLString },
  },
});

interface FileTableArgs {
  readonly table_name: string;
  readonly column_name: string;
}

/** Turns a table into a file table, whose rows may have files. */
export const setFileTable: ControlField<FileTableArgs> = {
  type: fileTableType,
  description:
    'Turns a table into a file table, whose rows can have files. The column is either a nullable text or uuid column that will name the newest file of each row, or a column of the primary key, which is left unchanged.',
  args: {
    table_name: { type: new GraphQLNonNull(GraphQLString) },
    column_name: { type: new GraphQLNonNull(GraphQLString) },
  },
  resolve: async (_source, args, { principal, db, deps, afterCommit }) => {
    const schema = requireTenantAdmin(principal);
    const { tenantid, roleid } = principal;
    // The table may have just been created.
    const catalog = await deps.engine.introspect(tenantid, schema);
    const [table] = requireKnownTables(catalog, [args.table_name]);
    if (!table || !isWritable(table)) {
      throw badInput('table_name', `${args.table_name} is read-only: its rows can't have files.`);
    }
    const column = requireFileColumn(table, args.column_name);
    await storeFileTable(db, tenantid, roleid, { table: table.sqlName, column: column.sqlName });
    // Other processes notice when they next check the tables.
    afterCommit.push(() => deps.engine.forget(tenantid));
    return args;
  },
};

/** Throws AppError BAD_USER_INPUT for a column that can't name files. */
function requireFileColumn(table: Table, name: string): Column {
  const column = table.columns.get(name) ?? [...table.columns.values()].find((item) => item.sqlName === name);
  if (!column) throw badInput('column_name', `${table.name} has no column ${name}.`);
  if (column.inPrimaryKey) return column;
  const { kind, array } = column.type;
  const holdsNames = (kind === 'text' || kind === 'uuid') && !array;
  if (holdsNames && column.nullable && !column.generated && !column.inForeignKey) return column;
  throw badInput(
    'column_name',
    `${table.name}.${name} can't name a file: it must be a text or uuid column that may be null and refers to nothing, or one of the primary key.`,
  );
}
