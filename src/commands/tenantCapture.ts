import { withInstallation } from '../process/compose.js';
import { lockTenant } from '../control/lockTenant.js';
import type { Writers } from '../db/capture/capture.js';
import { statementsToCaptureTables } from '../db/capture/captureTables.js';
import { inTransaction } from '../db/pool/inTransaction.js';
import { findTenantSchema } from '../db/tenants/tenantStorage.js';
import { ArgumentError, printJson, printSql } from './command.js';
import { PRINT_SQL, readOptions, readTenantId, required } from './options.js';

/** Of one command: tables in use are tried again as long. */
const CAPTURE_PATIENCE_MS = 60_000;

/** Sets whose changes to tables become events. Prints a JSON line, for patterns one for each table. */
export async function capture(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'table', 'except', 'writers'], PRINT_SQL);
  const tenantid = readTenantId(options);
  const table = required(options, 'table');
  const writers = required(options, 'writers');
  if (writers !== 'api' && writers !== 'all') throw new ArgumentError('--writers takes api or all');
  const printsSql = options['print-sql'] === true;
  if (/[*,]/.test(table) || options.except !== undefined || printsSql) {
    return captureMany({ tenantid, writers, table, except: options.except ?? '', printsSql });
  }
  return withInstallation(async ({ database, openEngine }) => {
    const schema = await findTenantSchema(database.pool, tenantid);
    const [engine, { captureTable }] = await Promise.all([
      openEngine(),
      import('../control/utility/capture.js'),
    ]);
    const catalog = await engine.introspect(tenantid, schema);
    await inTransaction(database.pool, async (tx) => {
      await lockTenant(tx, tenantid);
      await captureTable(tx, database, { tenantid, catalog, table }, writers);
    });
    printJson({ tenantid, table, writers });
  });
}

async function captureMany(request: {
  readonly tenantid: number;
  readonly writers: Writers;
  readonly table: string;
  readonly except: string;
  readonly printsSql: boolean;
}): Promise<number> {
  const { tenantid, writers } = request;
  const failed: string[] = [];
  await withInstallation(async ({ database, openEngine }) => {
    const schema = await findTenantSchema(database.pool, tenantid);
    const [engine, { captureChosen, chooseTables }] = await Promise.all([
      openEngine(),
      import('../control/utility/captureTables.js'),
    ]);
    const catalog = await engine.introspect(tenantid, schema);
    const chosen = chooseTables(catalog, patternsOf(request.table), patternsOf(request.except));
    const what = { tenantid, schema, writers };
    if (request.printsSql) {
      printSql(await statementsToCaptureTables(database.pool, { ...what, tables: chosen.tables }));
      return;
    }
    const captured = await captureChosen(database, what, chosen, { patienceMs: CAPTURE_PATIENCE_MS });
    for (const { table, result, problem } of captured) {
      printJson({ tenantid, table, writers, result, ...(problem === null ? {} : { problem }) });
      if (result === 'failed') failed.push(table);
    }
  });
  return failed.length > 0 ? 1 : 0;
}

function patternsOf(list: string): readonly string[] {
  return list
    .split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== '');
}
