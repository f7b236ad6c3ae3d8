import { findLostCapture, recordCheck, type LostCapture } from '../db/capture/captureGaps.js';
import { CatalogStore } from '../db/catalog/catalogStore.js';
import { inTransaction } from '../db/pool/inTransaction.js';
import type { Database } from '../db/pool/database.js';
import { grantSchema } from '../db/tenants/adoption.js';
import type { Logger } from '../foundation/observability/log.js';
import { tablesNotCaptured } from '../foundation/observability/metrics.js';

/** A tenant whose tables could not be mended, for want of a right or a lock, or that lose their triggers again, is tried again after so long. */
const RETRY_MS = 10_000;
/** Or after as many times as long as it took: the tables of others wait meanwhile. */
const PAUSE_FACTOR = 10;
/** After so long, tables that were lost meanwhile are looked for before others are tried. */
const MAX_RUN_MS = 2_000;

/**
 * Restores the triggers and grants of captured tables that a migration of an application has dropped and created again, has
 * partitioned or has swapped, also of tenants that nobody uses.
 */
export class CaptureRestorer {
  readonly #catalogs: CatalogStore;
  /** By tenant: when to try it again, and how long it took. */
  readonly #tried = new Map<number, { readonly retryAtMs: number; readonly tookMs: number }>();

  constructor(
    private readonly deps: { readonly database: Pick<Database, 'pool' | 'tenants'>; readonly log: Logger },
    private readonly retryMs = RETRY_MS,
    private readonly maxRunMs = MAX_RUN_MS,
  ) {
    const { pool, tenants } = deps.database;
    this.#catalogs = new CatalogStore({ pool, tenants, log: deps.log, checkMs: 0 });
  }

  /** Throws what pg throws. */
  async run(): Promise<void> {
    const { pool, tenants } = this.deps.database;
    const names = await tenants.names();
    const lost = await findLostCapture(pool, names);
    await recordCheck(pool, lost);
    tablesNotCaptured.set(countTables(lost));
    const startedAtMs = performance.now();
    // What took long comes last: several tenants may take as long as they can.
    const tookMs = ({ tenantid }: LostCapture): number => this.#tried.get(tenantid)?.tookMs ?? 0;
    const due = lost
      .filter(({ tenantid }) => (this.#tried.get(tenantid)?.retryAtMs ?? 0) <= startedAtMs)
      .sort((one, other) => tookMs(one) - tookMs(other));
    for (const one of due) {
      await this.#restore(one);
      if (performance.now() - startedAtMs >= this.maxRunMs) break;
    }
    if (due.length > 0) tablesNotCaptured.set(countTables(await findLostCapture(pool, names)));
  }

  async #restore(lost: LostCapture): Promise<void> {
    const { tenantid, schema, tables } = lost;
    const { log, database } = this.deps;
    const startedAtMs = performance.now();
    try {
      if (lost.lacksUsage) await inTransaction(database.pool, (client) => grantSchema(client, lost));
      const { problems } = await this.#catalogs.introspect(tenantid, schema);
      log.warn(
        { tenantid, tables, problems: problems.length },
        'restored what captures tables, or grants on them',
      );
    } catch (error) {
      log.error(
        { tenantid, tables, err: error },
        'what captures tables is missing, and could not be restored',
      );
    } finally {
      this.#catalogs.forget(tenantid);
      const nowMs = performance.now();
      const tookMs = nowMs - startedAtMs;
      this.#tried.set(tenantid, { retryAtMs: nowMs + Math.max(this.retryMs, PAUSE_FACTOR * tookMs), tookMs });
    }
  }
}

function countTables(lost: readonly LostCapture[]): number {
  return lost.reduce((sum, { tables }) => sum + tables.length, 0);
}
