import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { runRowpost, spawnRowpost } from '../../test/support/rowpostProcess.js';
import { otherCell, type CellName, type CellsRig } from './cells.js';

/** Where the command was killed: the step of the directory's row, and how long after it was reached. */
export type Strike = 'copying' | 'fenced' | 'turned' | 'none';

export interface MadeMove {
  readonly strike: Strike;
  /** How it went on: run again, or aborted. */
  readonly end: 'moved' | 'aborted';
  /** As the command said; of moves that nothing disturbed. */
  readonly pause: Pause | undefined;
}

/** How long writes were refused, and, at the end of that, reads as well. */
export interface Pause {
  readonly pauseMs: number;
  readonly closedMs: number;
}

/** How long each step takes, with some margin: the command is killed at random within it. */
const STEP_MS: Readonly<Record<Strike, number>> = { copying: 3_000, fenced: 1_200, turned: 300, none: 0 };

/** Moves a tenant out of the cell, kills the command at a step, and brings the move to an end. */
export async function strikeMove(
  rig: CellsRig,
  tenantid: number,
  from: CellName,
  strike: Strike,
  random: () => number,
): Promise<MadeMove> {
  const env = rig.moveEnv(from);
  const move = ['tenant', 'move', '--tenant', String(tenantid)];
  const to = ['--to', otherCell(from)];
  const child = spawnRowpost([...move, ...to], env);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const said = Promise.all([child.stdout, child.stderr].map(async (part) => (part ? text(part) : '')));
  if (strike !== 'none') {
    await Promise.race([stepOf(rig, tenantid, strike), closed]);
    await delay(random() * STEP_MS[strike]);
    child.kill('SIGKILL');
  }
  const [code] = await closed;
  const [stdout = '', stderr = ''] = await said;
  if (code === 0) return { strike, end: 'moved', pause: strike === 'none' ? pauseIn(stdout) : undefined };
  if (strike === 'none') throw new Error(`the move failed:\n${stderr}`);
  if (random() < 0.4) {
    const aborted = await runRowpost([...move, '--abort'], env);
    if (aborted.code === 0) return { strike, end: 'aborted', pause: undefined };
    if (!/already|not being moved/.test(aborted.stderr)) throw new Error(`not aborted:\n${aborted.stderr}`);
  }
  if (await isAt(rig, tenantid, otherCell(from))) return { strike, end: 'moved', pause: undefined };
  const again = await runRowpost([...move, ...to], env);
  if (again.code !== 0) throw new Error(`the move could not be resumed:\n${again.stderr}`);
  return { strike, end: 'moved', pause: undefined };
}

/** The second line; the first is the estimate. */
function pauseIn(stdout: string): Pause {
  const said = JSON.parse(stdout.split('\n')[1] ?? '') as { pause_ms: number; closed_ms: number };
  return { pauseMs: said.pause_ms, closedMs: said.closed_ms };
}

/** Resolves once the newest move of the tenant is at the step. */
async function stepOf(rig: CellsRig, tenantid: number, step: Strike): Promise<void> {
  for (;;) {
    const { rows } = await rig.directory.database.pool.query<{ step: string }>(
      `select step from rowpost_directory.move where tenantid = $1 and step not in ('done', 'broken_off')`,
      [tenantid],
    );
    if (rows[0]?.step === step) return;
    await delay(3);
  }
}

/** Whether the move has ended and the cell holds the tenant. */
async function isAt(rig: CellsRig, tenantid: number, cell: CellName): Promise<boolean> {
  const { rows } = await rig.directory.database.pool.query(
    `select from rowpost_directory.tenant where tenantid = $1 and cell = $2 and not exists (
       select from rowpost_directory.move where tenantid = $1 and step not in ('done', 'broken_off'))`,
    [tenantid, cell],
  );
  return rows.length > 0;
}
