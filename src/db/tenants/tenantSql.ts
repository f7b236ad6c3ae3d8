import type { Client } from 'pg';
import { AppError } from '../../foundation/errors.js';
import type { Database } from '../pool/database.js';
import { requireTenantInThisCell } from '../cells/placement.js';
import { statement, tenantScript } from '../sql/sql.js';
import { LOCK_NOT_AVAILABLE, sqlState } from '../sql/sqlState.js';
import { findTenantSchema } from './tenantStorage.js';

const LOCKED_HINT =
  'Nothing is wrong with the script, and none of it was applied: another transaction holds a lock on the table. Run it again once that has ended; pg_stat_activity shows which.';

/**
 * Runs an SQL script logged in as the tenant's role, with its schema as the search path, in one transaction; the script
 * can't switch to another role. No shared connection serves the tenant in the meantime: introspect afterwards, which
 * decides whether one may again. Throws AppError TENANT_NOT_FOUND, or TENANT_SQL_FAILED with PostgreSQL's message, line and
 * column if the script was rolled back.
 */
export async function runTenantSql(
  database: Database,
  script: { readonly tenantid: number; readonly sql: string },
): Promise<{ schema: string }> {
  const schema = await findTenantSchema(database.knex, script.tenantid);
  await requireTenantInThisCell(database.knex, script.tenantid);
  await database.tenants.changeSchema(script.tenantid, async (client) => {
    await prepareSession(client, schema);
    await client.query(statement`begin`);
    await client.query(tenantScript(script.sql)).catch((error: unknown) => {
      throw scriptError(error, script.sql);
    });
    await client.query(statement`commit`).catch((error: unknown) => {
      throw scriptError(error, script.sql);
    });
  });
  return { schema };
}

/** For the whole session: the script may contain a COMMIT. */
async function prepareSession(client: Client, schema: string): Promise<void> {
  await client.query(
    statement`select set_config('statement_timeout', '0', false), set_config('idle_in_transaction_session_timeout', '0', false),
       set_config('search_path', quote_ident($1), false)`,
    [schema],
  );
}

function scriptError(error: unknown, script: string): unknown {
  // Without an SQLSTATE, the connection broke: not the script's fault.
  if (!(error instanceof Error) || sqlState(error)?.length !== 5) return error;
  const position = Number((error as { position?: unknown }).position);
  const place = position > 0 ? lineAndColumn(script, position - 1) : undefined;
  const where = place ? ` at line ${place.line}, column ${place.column}` : '';
  return new AppError('TENANT_SQL_FAILED', `The script failed${where}: ${error.message}`, {
    ...(sqlState(error) === LOCK_NOT_AVAILABLE ? { hint: LOCKED_HINT } : {}),
    details: { sqlstate: sqlState(error) ?? null, ...place },
    cause: error,
  });
}

/** @param offset in characters as PostgreSQL counts them, code points, from 0. */
function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = Array.from(text).slice(0, offset).join('').split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}
