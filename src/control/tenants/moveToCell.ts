import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { copyDirectory } from '../../db/cells/directory/copyDirectory.js';
import { readOwnCell } from '../../db/cells/directory/cells.js';
import {
  advanceMove,
  beginMove,
  readOpenMove,
  switchDirectory,
  withTenantMoves,
  type Move,
} from '../../db/cells/directory/moves.js';
import { carryHistory, carryOpen, endOfAttempts } from '../../db/cells/moving/carryLedger.js';
import type { DumpEnd } from '../../db/cells/moving/clientProgram.js';
import { requireUnsubscribed, unpublishTables } from '../../db/cells/moving/follow.js';
import {
  activateTenant,
  endOfEarlierTransactions,
  unfenceTenant,
  type MovingTenant,
} from '../../db/cells/moving/handOver.js';
import { leaveCell } from '../../db/cells/moving/leaveCell.js';
import { measureTables, otherWriters, ownedByOthers } from '../../db/cells/moving/movedTables.js';
import { copySequences } from '../../db/cells/moving/sequences.js';
import { endHold, FORGOTTEN_MS } from '../../db/cells/moving/writeHold.js';
import { followPublication, isFollowed } from '../../db/cells/placement.js';
import { requireDroppable } from '../../db/tenants/tenantStorage.js';
import { UsageError } from '../../foundation/errors.js';
import { verifyExport } from './exportFile.js';
import {
  copyTables,
  endFollowing,
  placeOf,
  placesOf,
  publishStructure,
  type MoveDeps,
  type Places,
} from './moveTables.js';
import { exportTenant } from './tenantExport.js';
import { importTenant } from './tenantImport.js';
import { readTenant } from './tenants.js';

/** What a move will take, before it begins. */
export interface MoveEstimate {
  /** Of the tenant's tables, with their indexes. */
  readonly bytes: number;
  readonly pauseMs: number;
}

interface MoveResult {
  readonly cell: string;
  /** How long the tenant's writes were refused; undefined if an earlier run of the command had stopped it. */
  readonly pauseMs: number | undefined;
  /** How long it was not served at all, at the end of that. */
  readonly closedMs: number | undefined;
}

/** Whatever the size: processes forget the tenant twice, and pg_dump and pg_restore start. */
const LEAST_PAUSE_MS = 2_500;
/** Dumped and restored with indexes: half of what two idle cores do. A busy machine takes several times as long. */
const BYTES_PER_MS = 30_000;

/**
 * Moves a tenant from the source to the target. A move that an earlier run left unfinished is completed if the directory had
 * been turned, and otherwise undone and started again. Throws UsageError, AppError or what pg throws; then run it again.
 * @param announce called before anything is done
 */
export function moveTenantToCell(
  deps: MoveDeps,
  tenantid: number,
  to: string,
  announce: (estimate: MoveEstimate) => void = () => undefined,
): Promise<MoveResult> {
  return withTenantMoves(deps.directory, tenantid, async () => {
    const open = await readOpenMove(deps.directory, tenantid);
    if (open?.step === 'turned') {
      await requireEnds(deps, open.source, open.target);
      await arrive(deps, open);
      return { cell: open.target, pauseMs: undefined, closedMs: undefined };
    }
    const keepsTables = await isFollowed(deps.source.database.pool, tenantid);
    if (open) await undo(deps, open, keepsTables);
    announce(await estimateMove(deps, tenantid, to));
    return begin(deps, tenantid, to, (move) => run(deps, move, keepsTables));
  });
}

/**
 * Lets the target follow the tenant's tables: creates them there, without rows, and publishes those here. The operator then
 * subscribes, and moves the tenant once PostgreSQL has copied the rows. Idempotent. Throws as moveTenantToCell, and what was done is
 * undone.
 * @returns the name of the publication
 */
export function followTenant(deps: MoveDeps, tenantid: number, to: string): Promise<string> {
  return withTenantMoves(deps.directory, tenantid, async () => {
    const { pool } = deps.source.database;
    const open = await readOpenMove(deps.directory, tenantid);
    if (open && (open.step === 'turned' || open.step === 'fenced')) {
      throw new UsageError(`tenant ${tenantid} moves already: go on without --follow, or use --abort`);
    }
    if ((await isFollowed(pool, tenantid)) && open?.step !== 'aborting') {
      if (open && open.target !== to) {
        throw new UsageError(`tenant ${tenantid} is followed by "${open.target}": use --abort first`);
      }
      return followPublication(tenantid);
    }
    if (open) await undo(deps, open);
    await estimateMove(deps, tenantid, to);
    await begin(deps, tenantid, to, async (move) => {
      const places = await requirePlaces(deps, move);
      await requireUnsubscribed(deps.target.database.pool, places.there);
      await leaveTarget(deps, move, places.there, false);
      await publishStructure(deps, places);
    });
    return followPublication(tenantid);
  });
}

async function begin<T>(
  deps: MoveDeps,
  tenantid: number,
  to: string,
  work: (move: Move) => Promise<T>,
): Promise<T> {
  const { name } = await ownCellOf(deps);
  await copyDirectory(deps.directory, deps.target.database.pool, to);
  const move = await beginMove(deps.directory, { tenantid, source: name, target: to });
  try {
    return await work(move);
  } catch (error) {
    await undoFailedMove(deps, move, error);
    throw error;
  }
}

/** Throws UsageError when the tenant can't be moved, AppError SCHEMA_TOO_LARGE. */
export async function estimateMove(deps: MoveDeps, tenantid: number, to: string): Promise<MoveEstimate> {
  const own = await ownCellOf(deps);
  if (own.name === to) throw new UsageError(`tenant ${tenantid} moves from "${to}": give another cell`);
  await requireEnds(deps, own.name, to);
  const { schema } = await requireMovable(deps, tenantid);
  const { pool } = deps.source.database;
  const bytes = await measureTables(pool, schema);
  // Of tables that are followed, only the end is left, and writes are held twice.
  const copyMs = (await isFollowed(pool, tenantid)) ? LEAST_PAUSE_MS : bytes / BYTES_PER_MS;
  return { bytes, pauseMs: Math.round(LEAST_PAUSE_MS + copyMs) };
}

async function ownCellOf({ source }: MoveDeps): Promise<{ readonly name: string }> {
  const own = await readOwnCell(source.database.pool);
  if (!own) throw new UsageError('this installation has not joined a directory: see docs/how-to/cells.md');
  return own;
}

/** Throws UsageError if that fails as well: then the tenant may be fenced, and served by no cell. */
async function undoFailedMove(deps: MoveDeps, { tenantid, moveid }: Move, failure: unknown): Promise<void> {
  try {
    const open = await readOpenMove(deps.directory, tenantid);
    // Unless another command has taken over.
    if (open?.moveid !== moveid || open.step === 'turned') return;
    await undo(deps, open, await isFollowed(deps.source.database.pool, tenantid));
  } catch (error) {
    const reasons = [failure, error].map((each) => (each instanceof Error ? each.message : String(each)));
    throw new UsageError(
      `the move failed (${reasons.join('), and so did undoing it (')}): until the command is run again, also with --abort, the tenant may not be served`,
    );
  }
}

/**
 * Undoes an unfinished move, and ends following the tables. Throws UsageError if the directory has been turned, or there is nothing
 * to undo.
 */
export function abortMove(deps: MoveDeps, tenantid: number): Promise<void> {
  return withTenantMoves(deps.directory, tenantid, async () => {
    const open = (await readOpenMove(deps.directory, tenantid)) ?? (await reopenFollowed(deps, tenantid));
    if (!open) throw new UsageError(`tenant ${tenantid} is not being moved`);
    if (open.step === 'turned') {
      throw new UsageError(
        `tenant ${tenantid} is in "${open.target}" already: run the move to its end, then move it back`,
      );
    }
    await undo(deps, open);
  });
}

/** A move that failed keeps the tables followed. */
async function reopenFollowed(deps: MoveDeps, tenantid: number): Promise<Move | undefined> {
  if (!(await isFollowed(deps.source.database.pool, tenantid))) return undefined;
  const { name } = await ownCellOf(deps);
  const target = await readOwnCell(deps.target.database.pool);
  if (!target) throw new UsageError('TARGET_DATABASE_URL is not that of a cell');
  return beginMove(deps.directory, { tenantid, source: name, target: target.name });
}

async function requireEnds({ source, target }: MoveDeps, from: string, to: string): Promise<void> {
  for (const [end, name, setting] of [
    [source, from, 'DATABASE_URL'],
    [target, to, 'TARGET_DATABASE_URL'],
  ] as const) {
    const own = await readOwnCell(end.database.pool);
    if (own?.name === name) continue;
    throw new UsageError(
      `${setting} is ${own ? `that of cell "${own.name}"` : 'not that of a cell'}, and not that of "${name}"`,
    );
  }
}

async function requireMovable({ source, target }: MoveDeps, tenantid: number): Promise<MovingTenant> {
  const tenant = await readTenant(source.database.pool, tenantid);
  if (tenant?.schema == null) throw new UsageError(`there is no tenant ${tenantid} in this cell`);
  if (tenant.adopted) {
    throw new UsageError(
      `the schema of tenant ${tenantid} belongs to an application: see docs/how-to/cells.md for how to move it`,
    );
  }
  const moving = await placeOf(source, tenantid, tenant.schema);
  const foreign = await ownedByOthers(source.database.pool, moving);
  if (foreign.length > 0) {
    throw new UsageError(
      `the schema "${moving.schema}" holds what belongs to other roles: ${foreign.join(', ')}; give it to ${moving.role} ("alter table … owner to …") first`,
    );
  }
  const writers = await otherWriters(source.database.pool, moving);
  if (writers.length > 0) {
    throw new UsageError(
      `${writers.join(', ')} may write to the tenant's tables, which nothing would stop once it has moved: revoke that first`,
    );
  }
  // To hold its writes takes a lock for each table, and to leave the cell, or arrive in one, a lock for each object.
  await requireDroppable(source.database.pool, moving.role, moving.schema, target.database.pool);
  return moving;
}

async function requirePlaces(deps: MoveDeps, move: Move): Promise<Places> {
  const places = await placesOf(deps, move);
  if (!places) throw new UsageError(`there is no tenant ${move.tenantid} in this cell`);
  return places;
}

/** @param keepsTables the target has followed the tables */
async function run(deps: MoveDeps, copying: Move, keepsTables: boolean): Promise<MoveResult> {
  const places = await requirePlaces(deps, copying);
  const { there } = places;
  const [from, to] = [deps.source.database.pool, deps.target.database.pool];
  await leaveTarget(deps, copying, there, keepsTables);
  const { fenced, heldMs, fencedAt } = await (keepsTables ? endFollowing : copyTables)(deps, copying, places);
  await endOfEarlierTransactions(from);
  await copyRest(deps, fenced, places);
  await delay(Math.max(0, FORGOTTEN_MS - (performance.now() - fencedAt)));
  const turned = await switchDirectory(deps.directory, fenced);
  await activateTenant(to, turned.tenantid, turned.moveid);
  const activeAt = performance.now();
  await arrive(deps, turned);
  return {
    cell: turned.target,
    pauseMs: Math.round(heldMs + activeAt - fencedAt),
    closedMs: Math.round(activeAt - fencedAt),
  };
}

/** Removes what an earlier move left in the target. */
async function leaveTarget(
  { target }: MoveDeps,
  { tenantid, moveid }: Move,
  there: MovingTenant,
  keepsTables: boolean,
): Promise<void> {
  if (await leaveCell(target.database.pool, there, moveid, keepsTables)) return;
  throw new UsageError(`tenant ${tenantid} is served by both cells: see docs/how-to/cells.md`);
}

/** While nobody serves the tenant. */
async function copyRest(
  { source, target, keyRing }: MoveDeps,
  { tenantid, source: cell, moveid }: Move,
  { there }: Places,
): Promise<void> {
  const [from, to] = [source.database.pool, target.database.pool];
  await copySequences(source.database, target.database, there);
  await endOfAttempts(source.database.ledger, tenantid);
  const lines: string[] = [];
  const keep = (line: string): Promise<void> => {
    lines.push(line);
    return Promise.resolve();
  };
  await exportTenant(from, { tenantid, keyRing, isSharing: true }, keep);
  const openLines = (): Readable => Readable.from(lines);
  await importTenant(target.database, {
    verified: await verifyExport({ openLines, signers: [keyRing] }),
    openLines,
    keys: { from: keyRing, to: keyRing },
    isForeign: false,
    arrival: { from: cell, move: moveid },
  });
  await carryOpen(from, to, tenantid);
}

/** Called once the directory has been turned. Idempotent. */
async function arrive(deps: MoveDeps, turned: Move): Promise<void> {
  const [from, to] = [deps.source.database.pool, deps.target.database.pool];
  await activateTenant(to, turned.tenantid, turned.moveid);
  const places = await placesOf(deps, turned);
  // Rather than wait for their relays to do it.
  await copyDirectory(deps.directory, from, turned.source);
  await copyDirectory(deps.directory, to, turned.target);
  if (places) {
    await carryHistory(from, to, turned.tenantid);
    await leaveCell(from, places.here, turned.moveid);
  }
  await unpublishTables(from, turned.tenantid);
  await advanceMove(deps.directory, turned, 'done');
}

/** Its login was let in to copy, whoever serves the tenant, unless it was deleted meanwhile. */
async function settleLogin({ database }: DumpEnd, { tenantid, schema }: MovingTenant): Promise<void> {
  const found = await readTenant(database.pool, tenantid);
  if (found?.schema === schema) await database.tenants.settle(tenantid, schema);
}

/**
 * Returns to the state in which only the source knows the tenant. Idempotent.
 * @param keepsTables the target goes on following its tables
 */
async function undo(deps: MoveDeps, open: Move, keepsTables = false): Promise<void> {
  await requireEnds(deps, open.source, open.target);
  // From this commit on, the directory can't be turned by whoever began the move.
  const aborting = open.step === 'aborting' ? open : await advanceMove(deps.directory, open, 'aborting');
  const places = await placesOf(deps, open);
  if (places) {
    await endHold(deps.source.database.pool, open.tenantid);
    await unfenceTenant(deps.source.database.pool, places.here, open.moveid);
    await settleLogin(deps.source, places.here);
    if (!keepsTables) await requireUnsubscribed(deps.target.database.pool, places.there);
    await leaveCell(deps.target.database.pool, places.there, open.moveid, keepsTables);
  }
  if (!keepsTables) await unpublishTables(deps.source.database.pool, open.tenantid);
  await advanceMove(deps.directory, aborting, 'broken_off');
}
