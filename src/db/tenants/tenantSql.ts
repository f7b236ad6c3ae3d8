import type { Client } from 'pg';
import { AppError } from '../../foundation/errors.js';
import type { Database } from '../pool/database.js';
import { copyIn } from '../pool/copyIn.js';
import { requireNotFollowed, requireTenantInThisCell } from '../cells/placement.js';
import { statement, tenantScript } from '../sql/sql.js';
import { LOCK_NOT_AVAILABLE, sqlState } from '../sql/sqlState.js';
import { partsOf, type ScriptPart } from './scriptParts.js';
import { findTenantSchema } from './tenantStorage.js';

const LOCKED =
  'Nothing is wrong with the script: another transaction holds a lock on the table. Run it again once that has ended; pg_stat_activity shows which.';
const NONE_APPLIED = 'none of it was applied';

/**
 * Runs an SQL script logged in as the tenant's role, with its schema as the search path, in one transaction unless it ends that
 * itself; the script can't switch to another role. It is read as psql reads it. No shared connection serves the tenant in the
 * meantime: introspect afterwards, which decides whether one may again. Throws AppError TENANT_NOT_FOUND, TENANT_MOVED, TENANT_MOVING, or TENANT_SQL_FAILED
 * with PostgreSQL's message, line and column, and what was applied.
 */
export async function runTenantSql(
  database: Database,
  { tenantid, sql }: { readonly tenantid: number; readonly sql: string },
): Promise<{ schema: string }> {
  const schema = await findTenantSchema(database.pool, tenantid);
  await database.tenants.changeSchema(tenantid, async (client) => {
    // A move, too, keeps others from changing the schema until it has ended.
    await requireTenantInThisCell(database.pool, tenantid);
    // Replication carries rows, and stops at tables that differ.
    await requireNotFollowed(database.pool, tenantid);
    await prepareSession(client, schema);
    await client.query(statement`begin`);
    await runScript(client, sql.replace(/^\uFEFF/, ''));
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

async function runScript(client: Client, script: string): Promise<void> {
  /** Before this, the script has committed what it did. */
  let appliedTo = 0;
  let at = 0;
  for (const part of partsOf(script)) {
    at = part.at;
    const end = at + part.text.length;
    const command = await runPart(client, part).catch((error: unknown) => {
      throw scriptError(error, script, part, appliedTo);
    });
    // Without a transaction, each statement is committed by itself.
    const isAlone = client.getTransactionStatus() === 'I' && command !== 'ROLLBACK';
    if (isAlone || command === 'COMMIT') appliedTo = end;
  }
  const last = { kind: 'statement', at, text: '' } as const;
  await client.query(statement`commit`).catch((error: unknown) => {
    throw scriptError(error, script, last, appliedTo);
  });
}

/** Commands of psql that change nothing in the database. pg_dump writes the first two. */
const IGNORED = /^\\(restrict|unrestrict|echo|qecho|warn|timing|pset)(\s|$)/;

/** @returns PostgreSQL's name of the command */
async function runPart(client: Client, part: ScriptPart): Promise<string> {
  if (part.kind === 'statement') return (await client.query(tenantScript(part.text))).command;
  if (part.kind === 'copy') {
    await copyIn(client, tenantScript(part.text), part.data);
    return 'COPY';
  }
  if (!IGNORED.test(part.text)) throw new CommandError(part.text);
  return '';
}

/** A command that only psql has. */
class CommandError extends Error {
  readonly code = '42601';

  constructor(command: string) {
    super(`${/^\S*/.exec(command)?.[0] ?? ''} is a command of psql, and no SQL`);
  }
}

function scriptError(error: unknown, script: string, part: ScriptPart, appliedTo: number): unknown {
  // Without an SQLSTATE, the connection broke: not the script's fault.
  if (!(error instanceof Error) || sqlState(error)?.length !== 5) return error;
  const place = placeOf(error, script, part);
  const where = place ? ` at line ${place.line}, column ${place.column}` : '';
  const applied =
    appliedTo === 0
      ? NONE_APPLIED
      : `what it has up to line ${lineAndColumn(script, appliedTo).line} was committed by the script itself, and stays`;
  const isLocked = sqlState(error) === LOCK_NOT_AVAILABLE;
  return new AppError('TENANT_SQL_FAILED', `The script failed${where}: ${error.message}`, {
    hint: isLocked
      ? `${LOCKED} As for this run, ${applied}.`
      : `Correct the script at the given position; ${applied}.`,
    details: { sqlstate: sqlState(error) ?? null, ...place },
    cause: error,
  });
}

/** PostgreSQL counts characters as code points, from 1, and the lines of data that are copied. */
function placeOf(error: Error, script: string, part: ScriptPart): LineAndColumn | undefined {
  const { position, where } = error as { position?: unknown; where?: string };
  if (part.kind === 'command') return lineAndColumn(script, part.at);
  const line = part.kind === 'copy' ? Number(/^COPY .*, line (\d+)/m.exec(where ?? '')?.[1] ?? 0) : 0;
  if (part.kind === 'copy' && line > 0)
    return { line: lineAndColumn(script, part.dataAt).line + line - 1, column: 1 };
  if (!(Number(position) > 0)) return undefined;
  const before = Array.from(part.text)
    .slice(0, Number(position) - 1)
    .join('');
  return lineAndColumn(script, part.at + before.length);
}

interface LineAndColumn {
  readonly line: number;
  readonly column: number;
}

function lineAndColumn(text: string, offset: number): LineAndColumn {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: Array.from(before.at(-1) ?? '').length + 1 };
}
