import type { PoolClient } from 'pg';
import { AppError } from '../../errors.js';
import type { Database } from '../database.js';
import { sqlState } from './constraint.js';
import { tenantRole } from '../tenantTransaction.js';
import { findTenantSchema } from './tenantStorage.js';

/**
 * Runs an SQL script as the tenant's owner, with its schema as the search path, in one transaction.
 * For the operator's command line: a script could leave the tenant's role again, so it is never taken from HTTP.
 * Throws AppError TENANT_NOT_FOUND; TENANT_SQL_FAILED with PostgreSQL's message, line and column: then nothing
 * of the script remains.
 */
export async function runTenantSql(
  database: Database,
  script: { readonly tenantid: number; readonly sql: string },
): Promise<{ schema: string }> {
  const schema = await findTenantSchema(database.knex, script.tenantid);
  const client = await database.pool.connect();
  try {
    await enterTenant(client, script.tenantid, schema);
    await client.query('begin');
    await client.query(script.sql).catch((error: unknown) => {
      throw scriptError(error, script.sql);
    });
    await client.query('commit').catch((error: unknown) => {
      throw scriptError(error, script.sql);
    });
    return { schema };
  } finally {
    // Whatever the script did to its session ends with the connection; an open transaction rolls back.
    client.release(true);
  }
}

/** For the whole session: a COMMIT inside the script must not hand the rest of it to the service's own role. */
async function enterTenant(client: PoolClient, tenantid: number, schema: string): Promise<void> {
  await client.query(
    `select set_config('statement_timeout', '0', false), set_config('search_path', quote_ident($1), false),
       set_config('role', $2, false)`,
    [schema, tenantRole(tenantid)],
  );
}

function scriptError(error: unknown, script: string): unknown {
  // Without an SQLSTATE it is not the script: the connection broke.
  if (!(error instanceof Error) || sqlState(error)?.length !== 5) return error;
  const position = Number((error as { position?: unknown }).position);
  const place = position > 0 ? lineAndColumn(script, position - 1) : undefined;
  const where = place ? ` at line ${place.line}, column ${place.column}` : '';
  return new AppError('TENANT_SQL_FAILED', `The script failed${where}: ${error.message}`, {
    details: { sqlstate: sqlState(error) ?? null, ...place },
    cause: error,
  });
}

/** @param offset in characters as PostgreSQL counts them, code points, from 0. */
function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = Array.from(text).slice(0, offset).join('').split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}
