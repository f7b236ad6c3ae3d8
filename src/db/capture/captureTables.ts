import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { AppError, type ErrorCode } from '../../foundation/errors.js';
import type { Table } from '../catalog/catalog.js';
import type { RoleNames } from '../isolation/roleNames.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { LOCK_TIMEOUT_MS } from '../pool/withLockTimeout.js';
import { statement, wholeNumber, type SqlText } from '../sql/sql.js';
import { isSettled, setCapture, statementsToCapture, type Writers } from './capture.js';
import { readCaptureStates, type CaptureState } from './captureTriggers.js';

export interface ManyTables {
  readonly tenantid: number;
  readonly schema: string;
  readonly tables: readonly Table[];
  readonly writers: Writers;
}

export interface CapturedTable {
  readonly table: string;
  readonly result: 'changed' | 'unchanged' | 'left_out' | 'failed';
  readonly problem: string | null;
}

/** What concerns one table only. */
const REASONS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CAPTURE_DENIED',
  'BAD_USER_INPUT',
  'NAME_TAKEN',
]);
const PAUSE_MS = 200;

/**
 * Switches capture of many tables on or off, each in a transaction of its own, so that one table at a time is locked, and what is
 * done stays done. Those in use are tried again after the others. Calling it again continues. Throws what `inTransaction`
 * throws, except for what concerns one table.
 * @param inTransaction runs the change of one table
 * @param patienceMs after which no table is tried again
 */
export async function captureTables(
  pool: Pool,
  names: RoleNames,
  what: ManyTables,
  inTransaction: (change: (runner: StatementRunner) => Promise<void>, table: Table) => Promise<void>,
  patienceMs: number,
): Promise<readonly CapturedTable[]> {
  const { tenantid, writers } = what;
  const until = performance.now() + patienceMs;
  const results = new Map<Table, CapturedTable>();
  const end = (table: Table, result: CapturedTable['result'], problem: string | null = null): void => {
    results.set(table, { table: table.name, result, problem });
  };
  const states = await readStates(pool, what);
  for (const table of what.tables) {
    if (isAsWanted(what, table, states)) end(table, 'unchanged');
  }
  for (;;) {
    const waiting = what.tables.filter((table) => !results.has(table));
    for (const table of waiting) {
      try {
        await inTransaction((runner) => setCapture(runner, names, tenantid, table, writers, 0), table);
        end(table, 'changed');
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (error.code === 'TRANSACTION_CONFLICT') {
          if (performance.now() > until) end(table, 'failed', error.message);
          continue;
        }
        if (!REASONS.has(error.code)) throw error;
        end(table, 'failed', `${error.message} ${error.hint}`);
      }
    }
    if (results.size === what.tables.length) break;
    await delay(PAUSE_MS);
  }
  return [...results.values()];
}

/** The same as statements, in a transaction for each table that lacks something. Throws what pg throws. */
export async function statementsToCaptureTables(pool: Pool, what: ManyTables): Promise<readonly SqlText[]> {
  const states = await readStates(pool, what);
  return what.tables.flatMap((table) => {
    const state = states.get(table.sqlName);
    if (!state || isAsWanted(what, table, states)) return [];
    return [
      statement`begin`,
      statement`set local lock_timeout = ${wholeNumber(LOCK_TIMEOUT_MS)}`,
      ...statementsToCapture(what.tenantid, table, state, what.writers),
      statement`commit`,
    ];
  });
}

async function readStates(
  pool: Pool,
  { tables, ...schema }: ManyTables,
): Promise<ReadonlyMap<string, CaptureState>> {
  if (tables.length === 0) return new Map();
  const states = await readCaptureStates(
    pool,
    schema,
    tables.map(({ sqlName }) => sqlName),
  );
  return new Map(states.map((state) => [state.table, state]));
}

function isAsWanted(
  { tenantid, writers }: ManyTables,
  table: Table,
  states: ReadonlyMap<string, CaptureState>,
): boolean {
  const state = states.get(table.sqlName);
  if (!state) return false;
  if (writers === 'all') return isSettled(tenantid, table, state);
  return !state.isStored && state.parts.every(({ triggers }) => triggers.length === 0);
}
