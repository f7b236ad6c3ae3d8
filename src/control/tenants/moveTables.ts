import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { KeyRing } from '../../config/secrets.js';
import { withTenantSession, type DumpEnd } from '../../db/cells/moving/clientProgram.js';
import { SNAPSHOT, requireSameRows } from '../../db/cells/moving/compareTables.js';
import {
  publishTables,
  receiveTail,
  requireFollowable,
  requireSubscribed,
} from '../../db/cells/moving/follow.js';
import { fenceTenant, structureOf, type MovingTenant } from '../../db/cells/moving/handOver.js';
import { lockOut } from '../../db/cells/moving/leaveCell.js';
import {
  dumpTables,
  printStructure,
  restoreTables,
  serviceTriggers,
} from '../../db/cells/moving/tablesDump.js';
import { withWritesHeld } from '../../db/cells/moving/writeHold.js';
import type { Directory } from '../../db/cells/directory/directory.js';
import { advanceMove, type Move } from '../../db/cells/directory/moves.js';
import { inTransaction } from '../../db/pool/inTransaction.js';
import { createTenantSchema } from '../../db/tenants/tenantStorage.js';
import { UsageError } from '../../foundation/errors.js';
import { readTenant } from './tenants.js';

// How a tenant's tables get from one cell to another.

export interface MoveDeps {
  readonly directory: Directory;
  readonly source: DumpEnd;
  readonly target: DumpEnd;
  /** All cells have the same keys. */
  readonly keyRing: KeyRing;
}

/** The tenant at both ends. */
export interface Places {
  readonly here: MovingTenant;
  readonly there: MovingTenant;
}

export async function placesOf(
  { source, target }: MoveDeps,
  { tenantid }: Move,
): Promise<Places | undefined> {
  const known =
    (await readTenant(source.database.pool, tenantid)) ?? (await readTenant(target.database.pool, tenantid));
  if (known?.schema == null) return undefined;
  return {
    here: await placeOf(source, tenantid, known.schema),
    there: await placeOf(target, tenantid, known.schema),
  };
}

export async function placeOf(
  { database }: DumpEnd,
  tenantid: number,
  schema: string,
): Promise<MovingTenant> {
  return { tenantid, schema, role: (await database.tenants.names()).tenant(tenantid) };
}

export interface Fenced {
  readonly fenced: Move;
  /** How long writes were held until then. */
  readonly heldMs: number;
  /** By `performance.now()`. */
  readonly fencedAt: number;
}

/** Copies the tables while writes to them are held. */
export function copyTables(deps: MoveDeps, copying: Move, places: Places): Promise<Fenced> {
  const { source, target } = deps;
  const { here, there } = places;
  const { pool } = source.database;
  return withArchiveFile(async (file) => {
    await inTransaction(target.database.pool, (tx) => createTenantSchema(tx, there.tenantid, there.schema));
    return source.database.tenants.changeSchema(here.tenantid, async (session) =>
      holdAndFence(deps, copying, here, await structureOf(pool, here), async () => {
        await dumpTables(session, source.url, here.schema, file);
        await restoreTables(target, here.tenantid, file, await serviceTriggers(pool, here.schema));
      }),
    );
  });
}

/** Makes sure that the target has the same tables with the same rows, and holds writes until it has the last of them. */
export function endFollowing(deps: MoveDeps, copying: Move, { here, there }: Places): Promise<Fenced> {
  const { source, target } = deps;
  const { tenantid, schema } = here;
  const [from, to] = [source.database.pool, target.database.pool];
  return source.database.tenants.changeSchema(tenantid, async (session) => {
    await requireSubscribed(to, there);
    const structure = await structureOf(from, here);
    const beforeMs = await withTenantSession(target.database, tenantid, async (other) => {
      requireSameStructure(
        await printStructure(session, source.url, schema),
        await printStructure(other, target.url, schema),
      );
      const heldAt = performance.now();
      await withWritesHeld(from, here, async () => {
        await receiveTail(from, to, there);
        for (const each of [session, other]) await each.query(SNAPSHOT);
      });
      const heldMs = performance.now() - heldAt;
      await requireSameRows([session, other], here);
      return heldMs;
    });
    const fenced = await holdAndFence(deps, copying, here, structure, () => receiveTail(from, to, there));
    return { ...fenced, heldMs: beforeMs + fenced.heldMs };
  });
}

/** Throws UsageError with what only one of them has. */
function requireSameStructure(here: readonly string[], there: readonly string[]): void {
  if (here.join('\n') === there.join('\n')) return;
  const [line = 'the order of columns'] = [
    ...here.filter((each) => !there.includes(each)).map((each) => `${each.trim()} (here)`),
    ...there.filter((each) => !here.includes(each)).map((each) => `${each.trim()} (in the target)`),
  ];
  throw new UsageError(`the tables differ: ${line}; make them the same, or use --abort and begin again`);
}

/** Holds the tenant's writes while `bring` brings their rows to the target, and fences the tenant with the end of the hold. */
async function holdAndFence(
  { directory, source }: MoveDeps,
  copying: Move,
  here: MovingTenant,
  structure: string,
  bring: () => Promise<void>,
): Promise<Fenced> {
  const { pool } = source.database;
  let fenced = copying;
  let fencedAt = 0;
  const heldAt = performance.now();
  await withWritesHeld(pool, here, async (hold) => {
    await bring();
    fenced = await advanceMove(directory, copying, 'fenced');
    await fenceTenant(hold, pool, here, { move: fenced.moveid, movedTo: fenced.target, structure });
    fencedAt = performance.now();
  });
  return { fenced, heldMs: fencedAt - heldAt, fencedAt };
}

/** Creates the tables in the target, and publishes those here: the last step, by which later commands know. */
export async function publishStructure({ source, target }: MoveDeps, { here, there }: Places): Promise<void> {
  const { pool, tenants } = source.database;
  await withArchiveFile(async (file) => {
    await inTransaction(target.database.pool, (tx) => createTenantSchema(tx, there.tenantid, there.schema));
    await tenants.changeSchema(here.tenantid, async (session) => {
      await requireFollowable(source.database, here);
      await dumpTables(session, source.url, here.schema, file, false);
      await restoreTables(target, here.tenantid, file, await serviceTriggers(pool, here.schema));
      // Until the move, nobody is logged in as the tenant there.
      await lockOut(target.database.pool, there.role);
      await requireFollowable(target.database, there);
      await publishTables(pool, here);
    });
  });
}

async function withArchiveFile<T>(work: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-move-'));
  try {
    return await work(path.join(folder, 'tables.dump'));
  } finally {
    await rm(folder, { recursive: true });
  }
}
