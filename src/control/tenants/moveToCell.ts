import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { copyDirectory } from '../../db/cells/directory/copyDirectory.js';
import { readOwnCell } from '../../db/cells/directory/cells.js';
import type { Directory } from '../../db/cells/directory/directory.js';
import {
  advanceMove,
  beginMove,
  readOpenMove,
  switchDirectory,
  withTenantMoves,
  type Move,
} from '../../db/cells/directory/moves.js';
import { carryHistory, carryOpen, endOfAttempts } from '../../db/cells/moving/carryLedger.js';
import { copyRows, copySequences, type Ends } from '../../db/cells/moving/copyRows.js';
import {
  applyChanges,
  copyKeyless,
  noteChanges,
  stopNotingChanges,
} from '../../db/cells/moving/followChanges.js';
import {
  activateTenant,
  fenceTenant,
  structureOf,
  unfenceTenant,
  type MovingTenant,
} from '../../db/cells/moving/handOver.js';
import { leaveCell } from '../../db/cells/moving/leaveCell.js';
import {
  listTables,
  otherWriters,
  ownedByOthers,
  type MovedTable,
} from '../../db/cells/moving/movedTables.js';
import type { DumpEnd } from '../../db/cells/moving/clientProgram.js';
import { fillViews, makeReferences, validateReferences } from '../../db/cells/moving/references.js';
import { dumpSchema, type SchemaDump } from '../../db/cells/moving/schemaDump.js';
import { createTenantSchema } from '../../db/tenants/tenantStorage.js';
import { inTransaction } from '../../db/pool/inTransaction.js';
import { PRINCIPAL_MAX_AGE_MS } from '../../db/roles/principal.js';
import { UsageError } from '../../foundation/errors.js';
import type { KeyRing } from '../../config/secrets.js';
import { verifyExport } from './exportFile.js';
import { exportTenant } from './tenantExport.js';
import { importTenant } from './tenantImport.js';
import { readTenant } from './tenants.js';

export interface MoveDeps {
  readonly directory: Directory;
  readonly source: DumpEnd;
  readonly target: DumpEnd;
  /** All cells have the same keys. */
  readonly keyRing: KeyRing;
}

interface MoveResult {
  readonly cell: string;
  /** How long nobody served the tenant; undefined if an earlier run of the command had stopped it. */
  readonly pauseMs: number | undefined;
}

/** A round with fewer changes takes less time than what the pause needs anyway. */
const FEW_CHANGES = 200;
const MAX_ROUNDS = 1_000;
/** With a margin. After this time, no process serves the tenant from its cache. */
const FORGOTTEN_MS = PRINCIPAL_MAX_AGE_MS + 100;

/**
 * Moves a tenant from the source to the target. A move that an earlier run left unfinished is completed if the directory had
 * been turned, and otherwise undone and started again. Throws UsageError, AppError or what pg throws; then run it again.
 */
export function moveTenantToCell(deps: MoveDeps, tenantid: number, to: string): Promise<MoveResult> {
  return withTenantMoves(deps.directory, tenantid, async () => {
    const open = await readOpenMove(deps.directory, tenantid);
    if (open?.step === 'turned') {
      await requireEnds(deps, open.source, open.target);
      await arrive(deps, open);
      return { cell: open.target, pauseMs: undefined };
    }
    if (open) await undo(deps, open);
    const own = await readOwnCell(deps.source.database.pool);
    if (!own) throw new UsageError('this installation has not joined a directory: see docs/how-to/cells.md');
    if (own.name === to) throw new UsageError(`tenant ${tenantid} moves from "${to}": give another cell`);
    await requireEnds(deps, own.name, to);
    await copyDirectory(deps.directory, deps.target.database.pool, to);
    await requireMovable(deps, tenantid);
    const move = await beginMove(deps.directory, { tenantid, source: own.name, target: to });
    try {
      return await run(deps, move);
    } catch (error) {
      await undoFailedMove(deps, tenantid, error);
      throw error;
    }
  });
}

/** Throws UsageError if that fails as well: then the tenant may be fenced, and served by no cell. */
async function undoFailedMove(deps: MoveDeps, tenantid: number, failure: unknown): Promise<void> {
  try {
    const open = await readOpenMove(deps.directory, tenantid);
    if (open && open.step !== 'turned') await undo(deps, open);
  } catch (error) {
    const reasons = [failure, error].map((each) => (each instanceof Error ? each.message : String(each)));
    throw new UsageError(
      `the move failed (${reasons.join('), and so did undoing it (')}): until the command is run again, also with --abort, the tenant may not be served`,
    );
  }
}

/** Undoes an unfinished move. Throws UsageError if the directory has been turned, or no move is open. */
export function abortMove(deps: MoveDeps, tenantid: number): Promise<void> {
  return withTenantMoves(deps.directory, tenantid, async () => {
    const open = await readOpenMove(deps.directory, tenantid);
    if (!open) throw new UsageError(`tenant ${tenantid} is not being moved`);
    if (open.step === 'turned') {
      throw new UsageError(
        `tenant ${tenantid} is in "${open.target}" already: run the move to its end, then move it back`,
      );
    }
    await undo(deps, open);
  });
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

async function requireMovable({ source }: MoveDeps, tenantid: number): Promise<void> {
  const tenant = await readTenant(source.database.pool, tenantid);
  if (tenant?.schema == null) throw new UsageError(`there is no tenant ${tenantid} in this cell`);
  if (tenant.adopted) {
    throw new UsageError(
      `the schema of tenant ${tenantid} belongs to an application: see docs/how-to/backup.md for how to move it`,
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
      `${writers.join(', ')} may write to the tenant's tables, which nothing would stop during the move: revoke that first`,
    );
  }
}

async function placeOf({ database }: DumpEnd, tenantid: number, schema: string): Promise<MovingTenant> {
  return { tenantid, schema, role: (await database.tenants.names()).tenant(tenantid) };
}

/** The tenant at both ends. */
interface Places {
  readonly here: MovingTenant;
  readonly there: MovingTenant;
}

async function placesOf({ source, target }: MoveDeps, { tenantid }: Move): Promise<Places | undefined> {
  const known =
    (await readTenant(source.database.pool, tenantid)) ?? (await readTenant(target.database.pool, tenantid));
  if (known?.schema == null) return undefined;
  return {
    here: await placeOf(source, tenantid, known.schema),
    there: await placeOf(target, tenantid, known.schema),
  };
}

async function run(deps: MoveDeps, copying: Move): Promise<MoveResult> {
  const places = await placesOf(deps, copying);
  if (!places) throw new UsageError(`there is no tenant ${copying.tenantid} in this cell`);
  const { here, there } = places;
  const [from, to] = [deps.source.database.pool, deps.target.database.pool];
  if (!(await leaveCell(to, there, copying.moveid))) {
    throw new UsageError(`tenant ${copying.tenantid} is served by both cells: see docs/how-to/cells.md`);
  }
  const tables = await listTables(from, here.schema);
  await noteChanges(from, here, tables);
  const structure = await structureOf(from, here);
  const dump = await dumpSchema(deps.source, here);
  try {
    await copyWhileServed(deps, places, tables, dump);
    const fenced = await advanceMove(deps.directory, copying, 'fenced');
    const stoppedAt = performance.now();
    await fenceTenant(from, here, { move: fenced.moveid, movedTo: fenced.target, structure });
    const fencedAt = performance.now();
    await copyRest(deps, fenced, places, tables, dump);
    await delay(Math.max(0, FORGOTTEN_MS - (performance.now() - fencedAt)));
    const turned = await switchDirectory(deps.directory, fenced);
    await activateTenant(to, turned.tenantid, turned.moveid);
    const pauseMs = Math.round(performance.now() - stoppedAt);
    await arrive(deps, turned);
    return { cell: turned.target, pauseMs };
  } finally {
    await dump.delete();
  }
}

function endsOf({ source, target }: MoveDeps, places: Places): Ends {
  return { source: source.database, target: target.database, ...places };
}

async function copyWhileServed(
  deps: MoveDeps,
  places: Places,
  tables: readonly MovedTable[],
  dump: SchemaDump,
): Promise<void> {
  const { target } = deps;
  const ends = endsOf(deps, places);
  const followed = tables.filter(({ key }) => key.length > 0);
  const { tenantid, schema } = places.there;
  await inTransaction(target.database.pool, (tx) => createTenantSchema(tx, tenantid, schema));
  await dump.restoreTables(target);
  await copyRows(ends, followed);
  await dump.restoreIndexes(target);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if ((await applyChanges(ends, tables, false)) < FEW_CHANGES) return;
  }
  throw new UsageError("the tenant's rows change faster than they are copied");
}

/** During the pause. */
async function copyRest(
  deps: MoveDeps,
  { tenantid, source: cell, moveid }: Move,
  places: Places,
  tables: readonly MovedTable[],
  dump: SchemaDump,
): Promise<void> {
  const { source, target, keyRing } = deps;
  const ends = endsOf(deps, places);
  const [from, to] = [ends.source.pool, ends.target.pool];
  while ((await applyChanges(ends, tables, true)) > 0);
  await copyKeyless(ends, tables);
  await copySequences(ends);
  await makeReferences(ends);
  await fillViews(ends);
  await dump.restoreTriggers(target);
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
    await validateReferences(deps.target.database, places.there);
  }
  await advanceMove(deps.directory, turned, 'done');
}

/** Its login was let in to copy, whoever serves the tenant, unless it was deleted meanwhile. */
async function settleLogin({ database }: DumpEnd, { tenantid, schema }: MovingTenant): Promise<void> {
  const found = await readTenant(database.pool, tenantid);
  if (found?.schema === schema) await database.tenants.settle(tenantid, schema);
}

/** Returns to the state in which only the source knows the tenant. Idempotent. */
async function undo(deps: MoveDeps, open: Move): Promise<void> {
  await requireEnds(deps, open.source, open.target);
  // From this commit on, the directory can't be turned by whoever began the move.
  const aborting = open.step === 'aborting' ? open : await advanceMove(deps.directory, open, 'aborting');
  const places = await placesOf(deps, open);
  if (places) {
    await unfenceTenant(deps.source.database.pool, places.here, open.moveid);
    await stopNotingChanges(deps.source.database.pool, places.here);
    await settleLogin(deps.source, places.here);
    await leaveCell(deps.target.database.pool, places.there, open.moveid);
  }
  await advanceMove(deps.directory, aborting, 'broken_off');
}
