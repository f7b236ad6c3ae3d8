import { GraphQLEnumType, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { setCapture, type Writers } from '../../db/capture/capture.js';
import type { Database } from '../../db/pool/database.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import type { Catalog } from '../../db/catalog/catalog.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireKnownTables } from '../derive/references.js';
import { requireTenantAdmin } from '../permissions.js';

export const writersType = new GraphQLEnumType({
  name: 'capture_writers',
  values: {
    api: { description: 'Only mutations at /query.' },
    all: { description: 'Every committed change, whichever client makes it.' },
  },
});

const tableCaptureType = new GraphQLObjectType<CaptureArgs, ControlContext>({
  name: 'table_capture',
  fields: {
    table_name: { type: GraphQLString },
    writers: { type: writersType },
  },
});

interface CaptureArgs {
  readonly table_name: string;
  readonly writers: Writers;
}

/** Sets whose changes to a table become events. */
export const setTableCapture: ControlField<CaptureArgs> = {
  type: tableCaptureType,
  description: 'Sets whose changes to a table fire email rules. Briefly blocks writes to the table.',
  args: {
    table_name: { type: new GraphQLNonNull(GraphQLString) },
    writers: { type: new GraphQLNonNull(writersType) },
  },
  resolve: async (_source, args, { principal, db, deps, afterCommit }) => {
    const schema = requireTenantAdmin(principal);
    const { tenantid } = principal;
    // The table may have just been created.
    const catalog = await deps.engine.introspect(tenantid, schema);
    await captureTable(db, deps.database, { tenantid, catalog, table: args.table_name }, args.writers);
    afterCommit.push(() => deps.engine.forget(tenantid));
    return args;
  },
};

/** Call it in a transaction. Throws AppError UNKNOWN_TABLE, BAD_USER_INPUT, CAPTURE_DENIED. */
export async function captureTable(
  tx: StatementRunner,
  database: Database,
  what: { readonly tenantid: number; readonly catalog: Catalog; readonly table: string },
  writers: Writers,
): Promise<void> {
  const { tenantid, catalog } = what;
  const [table] = requireKnownTables(catalog, [what.table]);
  if (!table) return;
  if (writers === 'all' && (table.kind !== 'table' || table.primaryKey.length === 0)) {
    throw badInput('table_name', `${table.name} has no primary key: its events would not identify the row.`);
  }
  await setCapture(tx, await database.tenants.names(), tenantid, table, writers);
}
