import type pg from 'pg';
import { UsageError } from '../../../foundation/errors.js';
import { inTransaction } from '../../pool/inTransaction.js';
import type { Directory } from './directory.js';

/**
 * - `copying`: both cells are as before; the source serves.
 * - `fenced`: the source no longer serves or sends, or is about to stop.
 * - `turned`: the target holds the tenant. Before this step a move can be aborted, from here on it only goes forward.
 * - `done`: the source has given up what it had.
 */
type MoveStep = 'copying' | 'fenced' | 'turned' | 'done' | 'aborting' | 'broken_off';

export interface Move {
  readonly moveid: number;
  readonly tenantid: number;
  /** Cells. */
  readonly source: string;
  readonly target: string;
  readonly step: MoveStep;
}

const COLUMNS = 'moveid::int as moveid, tenantid, source, target, step';

/**
 * Runs `work` while no other command moves the tenant. A command that was cut off from the directory can't go on: each
 * step that matters is a change of the move's row from the step before. Throws UsageError when another one runs.
 */
export async function withTenantMoves<T>(
  directory: Directory,
  tenantid: number,
  work: () => Promise<T>,
): Promise<T> {
  const client = directory.createClient();
  await client.connect();
  try {
    const { rows } = await client.query<{ held: boolean }>(
      `select pg_try_advisory_lock('rowpost_directory.move'::regclass::oid::int, $1) as held`,
      [tenantid],
    );
    if (rows[0]?.held !== true) throw new UsageError(`tenant ${tenantid} is being moved by another command`);
    return await work();
  } finally {
    await client.end();
  }
}

/** @returns the move that has not ended */
export async function readOpenMove({ pool }: Directory, tenantid: number): Promise<Move | undefined> {
  const { rows } = await pool.query<Move>(
    `select ${COLUMNS} from rowpost_directory.move where tenantid = $1 and step not in ('done', 'broken_off')`,
    [tenantid],
  );
  return rows[0];
}

export async function beginMove(
  { pool }: Directory,
  move: Pick<Move, 'tenantid' | 'source' | 'target'>,
): Promise<Move> {
  const { rows } = await pool.query<Move>(
    `insert into rowpost_directory.move (tenantid, source, target) values ($1, $2, $3) returning ${COLUMNS}`,
    [move.tenantid, move.source, move.target],
  );
  const [begun] = rows;
  if (!begun) throw new Error('the move was not recorded');
  return begun;
}

/** Throws UsageError when the move is at another step by now. */
export async function advanceMove({ pool }: Directory, move: Move, step: MoveStep): Promise<Move> {
  await advance(pool, move, step);
  return { ...move, step };
}

/** The one commit that decides which cell holds the tenant. Throws UsageError when the move was aborted. */
export async function switchDirectory({ pool }: Directory, move: Move): Promise<Move> {
  await inTransaction(pool, async (client) => {
    await advance(client, move, 'turned');
    await client.query(
      `insert into rowpost_directory.tenant (tenantid, cell) values ($1, $2)
       on conflict (tenantid) do update set cell = excluded.cell`,
      [move.tenantid, move.target],
    );
  });
  return { ...move, step: 'turned' };
}

async function advance(runner: pg.Pool | pg.ClientBase, move: Move, step: MoveStep): Promise<void> {
  const { rowCount } = await runner.query(
    `update rowpost_directory.move set step = $3, changed = now() where moveid = $1 and step = $2`,
    [move.moveid, move.step, step],
  );
  if (rowCount === 0) {
    throw new UsageError(`the move of tenant ${move.tenantid} was taken over by another command`);
  }
}
