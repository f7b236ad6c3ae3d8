import type { Pool } from 'pg';
import { AppError } from '../../foundation/errors.js';
import type { Catalog, Table } from '../catalog/catalog.js';
import { readLockQuota } from '../isolation/lockCapacity.js';
import type { RoleNames } from '../isolation/roleNames.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { withLockTimeout } from '../pool/withLockTimeout.js';
import { inTransaction } from '../pool/inTransaction.js';
import { inOrder, quoted, statement, textConstant, type SqlText } from '../sql/sql.js';
import { DUPLICATE_OBJECT, INSUFFICIENT_PRIVILEGE, LOCK_NOT_AVAILABLE, sqlState } from '../sql/sqlState.js';
import { describeGaps, endGap } from './captureGaps.js';
import { ensureCaptureRole } from './captureRole.js';
import {
  readCaptureStates,
  triggersToDrop,
  triggersToRepair,
  type CapturedPart,
  type CaptureState,
} from './captureTriggers.js';

/** Whose changes to a table become events: only the API's, or every writer's. */
export type Writers = 'api' | 'all';

/**
 * Switches capture of a table on or off. Call it in a transaction: writers to the table wait for its end, and the change
 * applies to them from then on. Throws AppError CAPTURE_DENIED if the table belongs to another role, BAD_USER_INPUT if it
 * has foreign partitions or too many, TRANSACTION_CONFLICT if it is in use all the time, or what the driver throws.
 * @param patienceMs how long it tries to lock the table
 */
export async function setCapture(
  runner: StatementRunner,
  names: RoleNames,
  tenantid: number,
  table: Table,
  writers: Writers,
  patienceMs?: number,
): Promise<void> {
  if (writers === 'all') {
    await store(runner, tenantid, table.sqlName);
    await ensureCaptureRole(runner, names);
  }
  const [state] = await readCaptureStates(runner, { tenantid, schema: table.schema }, [table.sqlName]);
  const parts = state?.parts ?? [];
  const change = async (): Promise<void> => {
    if (writers === 'all') await createTriggers(runner, names, tenantid, table, parts);
    else await runAll(runner, names, table, parts, triggersToDrop);
  };
  await withLockTimeout(runner, change, patienceMs);
  if (writers === 'all') return;
  await runner.query(removed(tenantid, table.sqlName));
}

/** @returns the SQL names of the tables whose changes are all captured */
export async function readCapturedTables(pool: Pool, tenantid: number): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ name: string }>(
    'select table_name as name from rowpost.captured_table where tenantid = $1',
    [tenantid],
  );
  return new Set(rows.map(({ name }) => name));
}

/**
 * Creates missing triggers, and drops those too many: of tables that were recreated or renamed, of new partitions, and of
 * tables captured by an earlier release. Throws what pg throws.
 * @param isArriving from another installation, whose triggers do not come along
 * @returns messages about what could not be done
 */
export async function repairCapture(
  pool: Pool,
  names: RoleNames,
  tenantid: number,
  catalog: Catalog,
  isArriving = false,
): Promise<readonly string[]> {
  const states = await readCaptureStates(pool, { tenantid, schema: catalog.schema });
  if (states.length === 0) return [];
  const problems: string[] = [];
  const tables = new Map([...catalog.tables.values()].map((table) => [table.sqlName, table]));
  await inTransaction(pool, (runner) => ensureCaptureRole(runner, names));
  let patienceMs = LOCK_TIMEOUT_MS;
  for (const state of states) {
    const table = tables.get(state.table);
    if (!table || isSettled(tenantid, table, state)) continue;
    const startedAtMs = performance.now();
    try {
      await inTransaction(pool, async (runner) => {
        await runner.query(statement`set local lock_timeout = ${Math.ceil(patienceMs)}`);
        await store(runner, tenantid, table.sqlName);
        await createTriggers(runner, names, tenantid, table, state.parts);
        if (state.isStored && state.parts.some(lacksTriggers))
          await endGap(runner, tenantid, table.sqlName, isArriving);
      });
    } catch (error) {
      if (!(error instanceof AppError) && sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      patienceMs = Math.max(1, patienceMs - (performance.now() - startedAtMs));
      problems.push(`${table.name} is not captured as it should be: ${(error as Error).message}`);
    }
  }
  return problems;
}

/** Whose changes to a table become events, with messages about changes that are missed. Throws what the driver throws. */
export async function readCapture(
  runner: StatementRunner,
  tenantid: number,
  table: Table,
): Promise<{ readonly writers: Writers; readonly problems: readonly string[] }> {
  const states = await readCaptureStates(runner, { tenantid, schema: table.schema });
  const state = states.find(({ table: name }) => name === table.sqlName);
  if (!state) return { writers: 'api', problems: [] };
  const problems = state.parts.flatMap((part) => {
    const name = `${part.schema}.${part.name}`;
    return [
      ...(triggersToRepair(tenantid, table, part).length > 0
        ? [
            `The capture triggers of ${name} are not as they should be; they are repaired when the tables are next read.`,
          ]
        : []),
      ...(part.triggers.some(({ isEnabled }) => !isEnabled)
        ? [`Triggers of ${name} are disabled: changes made with SQL are not captured meanwhile.`]
        : []),
    ];
  });
  return {
    writers: 'all',
    problems: [...problems, ...(await describeGaps(runner, tenantid, table.sqlName))],
  };
}

/**
 * Short, because writers queue behind a session that waits for a lock on their table, and for all tables together, because other
 * tenants' wait as well. The next read of the tables retries.
 */
const LOCK_TIMEOUT_MS = 300;

/** A trigger with other arguments captures nevertheless, as after a table was renamed. */
function lacksTriggers({ triggers }: CapturedPart): boolean {
  return (
    new Set(triggers.map(({ operation }) => operation).filter((operation) => operation !== null)).size < 4
  );
}

/** Whether a table is captured as it should be, if at all. */
export function isSettled(tenantid: number, table: Table, { isStored, parts }: CaptureState): boolean {
  return isStored && parts.every((part) => triggersToRepair(tenantid, table, part).length === 0);
}

async function store(runner: StatementRunner, tenantid: number, sqlName: string): Promise<void> {
  await runner.query(stored(tenantid, sqlName));
}

function stored(tenantid: number, sqlName: string): SqlText {
  return statement`insert into rowpost.captured_table (tenantid, table_name) values (${tenantid}, ${textConstant(sqlName)}) on conflict do nothing`;
}

function removed(tenantid: number, sqlName: string): SqlText {
  return statement`delete from rowpost.captured_table where tenantid = ${tenantid} and table_name = ${textConstant(sqlName)}`;
}

/** What `setCapture` runs for a table of this state; a superuser may run it instead. */
export function statementsToCapture(
  tenantid: number,
  table: Table,
  { parts }: CaptureState,
  writers: Writers,
): readonly SqlText[] {
  return writers === 'all'
    ? [stored(tenantid, table.sqlName), ...parts.flatMap((part) => triggersToRepair(tenantid, table, part))]
    : [...parts.flatMap(triggersToDrop), removed(tenantid, table.sqlName)];
}

async function createTriggers(
  runner: StatementRunner,
  names: RoleNames,
  tenantid: number,
  table: Table,
  parts: readonly CapturedPart[],
): Promise<void> {
  if (parts.some((part) => part.isForeign)) {
    const message = `${table.name} has foreign partitions: PostgreSQL can't capture their rows.`;
    throw new AppError('BAD_USER_INPUT', message, { details: { field: 'table_name' } });
  }
  await runAll(runner, names, table, parts, (part) => triggersToRepair(tenantid, table, part));
}

/** PostgreSQL has one table of locks for all sessions, and each part that is changed takes one. */
async function runAll(
  runner: StatementRunner,
  names: RoleNames,
  table: Table,
  parts: readonly CapturedPart[],
  statementsFor: (part: CapturedPart) => readonly SqlText[],
): Promise<void> {
  const changes = parts
    .map((part) => ({ part, statements: statementsFor(part) }))
    .filter(({ statements }) => statements.length > 0);
  const { available, quota } = await readLockQuota(runner);
  if (changes.length > quota) {
    const message = `${table.name} has ${changes.length} partitions to change, and PostgreSQL ${available} locks for everybody.`;
    throw new AppError('BAD_USER_INPUT', message, {
      hint: 'Use fewer partitions, or raise max_locks_per_transaction.',
      details: { field: 'table_name' },
    });
  }
  for (const { part, statements } of changes) await run(runner, statements, part, names);
}

async function run(
  runner: StatementRunner,
  statements: readonly SqlText[],
  part: CapturedPart,
  names: RoleNames,
): Promise<void> {
  try {
    await runner.query(inOrder(statements));
  } catch (error) {
    if (sqlState(error) === DUPLICATE_OBJECT) throw nameTaken(part, error);
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new AppError('CAPTURE_DENIED', `${part.schema}.${part.name} belongs to ${part.owner}.`, {
      hint: `${part.owner} or a superuser must run: grant ${quoted(part.owner)} to ${quoted(names.service)}`,
      cause: error,
    });
  }
}

function nameTaken({ schema, name }: CapturedPart, cause: unknown): AppError {
  const message = `${schema}.${name} has a trigger of its own with the name of a capture trigger: ${(cause as Error).message}`;
  return new AppError('NAME_TAKEN', message, {
    hint: 'Rename it by "alter trigger … rename to …".',
    details: { field: 'table_name' },
    cause,
  });
}
