import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import type { Logger } from '../../foundation/observability/log.js';
import { repairCapture } from '../capture/capture.js';
import type { TenantConnections } from '../isolation/tenantConnections.js';
import { buildCatalog } from './buildCatalog.js';
import type { Catalog } from './catalog.js';
import { readFingerprint } from './fingerprint.js';
import { grantMissing } from './grants.js';
import { readSchema } from './introspect.js';
import { readOwnerSettings } from './ownerSettings.js';
import { checkSchemaSize } from './schemaSize.js';

interface Entry {
  catalog: Catalog;
  fingerprint: string;
  checkedAtMs: number;
  /** The check in flight, which may produce a new catalog. */
  checking: Promise<void> | undefined;
}

/** Tables of usual size. One takes about 17 KB including its GraphQL schema: 250 MB in total. */
const MAX_TABLES = 15_000;
const USUAL_COLUMNS = 25;
/** Connections of the service that reads leave: signing in and reading roles need them. */
const LEFT_FOR_OTHERS = 2;

/**
 * Caches the catalogs of active tenants. Each tenant has one read at a time, during which the old catalog is served. Idle
 * tenants cost nothing.
 */
export class CatalogStore {
  readonly #entries = new LRUCache<number, Entry>({
    maxSize: MAX_TABLES,
    // Schema size is limited elsewhere.
    sizeCalculation: ({ catalog }) => Math.min(weightOf(catalog), MAX_TABLES),
  });
  readonly #building = new Map<number, Promise<Entry>>();
  /** A read of thousands of columns holds a connection for seconds: tenants that change theirs all the time would hold all of them. */
  readonly #reads: TenantLimiter;

  constructor(
    private readonly deps: {
      pool: Pool;
      tenants: TenantConnections;
      log: Logger;
      checkMs: number;
      now?: () => number;
    },
  ) {
    this.#reads = new TenantLimiter({ max: Math.max(1, deps.pool.options.max - LEFT_FOR_OTHERS) });
  }

  /** The tenant's catalog, at most `checkMs` old. Throws what pg throws. */
  async get(tenantid: number, schema: string): Promise<Catalog> {
    const entry = this.#entries.get(tenantid);
    if (entry?.catalog.schema !== schema) return (await this.#build(tenantid, schema)).catalog;
    const ageMs = this.#now() - entry.checkedAtMs;
    if (ageMs >= this.deps.checkMs) {
      await this.#check(tenantid, entry);
    } else if (ageMs >= this.deps.checkMs / 2) {
      // A tenant under load is checked ahead of time, so that no request waits.
      this.#check(tenantid, entry).catch((error: unknown) => {
        this.deps.log.warn({ err: error, tenantid }, "a tenant's tables could not be checked");
      });
    }
    return (this.#entries.get(tenantid) ?? entry).catalog;
  }

  /**
   * Checks the tables now, because a statement or document did not match them.
   * @returns whether the catalog changed
   */
  async recheck(tenantid: number, seen: Catalog): Promise<boolean> {
    const entry = this.#entries.get(tenantid);
    if (!entry) return true;
    if (entry.catalog === seen) await this.#check(tenantid, entry);
    return this.#entries.get(tenantid)?.catalog !== seen;
  }

  /** Rereads the tables regardless of the fingerprint, and grants the tenant's role missing privileges. */
  async introspect(tenantid: number, schema: string): Promise<Catalog> {
    return (await this.#build(tenantid, schema, true)).catalog;
  }

  forgetAll(): void {
    this.#entries.clear();
  }

  forget(tenantid: number): void {
    this.#entries.delete(tenantid);
  }

  #check(tenantid: number, entry: Entry): Promise<void> {
    entry.checking ??= this.#compare(tenantid, entry).finally(() => {
      entry.checking = undefined;
    });
    return entry.checking;
  }

  async #compare(tenantid: number, entry: Entry): Promise<void> {
    const startedAtMs = this.#now();
    const fingerprint = await this.#fingerprint(entry.catalog.schema);
    if (fingerprint !== entry.fingerprint || this.deps.tenants.needsGrants(tenantid)) {
      await this.#build(tenantid, entry.catalog.schema);
      return;
    }
    entry.checkedAtMs = startedAtMs;
  }

  async #build(tenantid: number, schema: string, afresh = false): Promise<Entry> {
    const underWay = this.#building.get(tenantid);
    if (underWay) {
      const entry = await underWay;
      // A read in progress may have started before the caller's change.
      if (!afresh) return entry;
      return this.#build(tenantid, schema, true);
    }
    const building = this.#reads
      .run(tenantid, () => this.#read(tenantid, schema, afresh))
      .finally(() => this.#building.delete(tenantid));
    this.#building.set(tenantid, building);
    return building;
  }

  async #read(tenantid: number, schema: string, afresh: boolean): Promise<Entry> {
    const { pool, tenants } = this.deps;
    const checkedAtMs = this.#now();
    // Fingerprint first, so that the next check notices a change made in between.
    const fingerprint = await this.#fingerprint(schema);
    const isSettled = !afresh && (await tenants.isSettled(tenantid, fingerprint));
    const grants = isSettled ? [] : await this.#settle(tenantid, schema);
    const settings = await readOwnerSettings(pool, schema);
    const names = await tenants.names();
    const raw = await readSchema(pool, schema, names.tenant(tenantid));
    const tables = buildCatalog(schema, raw, grants, settings);
    const capture = isSettled ? [] : await repairCapture(pool, names, tenantid, tables);
    const read = { ...tables, problems: [...tables.problems, ...capture] };
    if (!isSettled && grants.length === 0 && capture.length === 0) {
      await tenants.recordSettled(tenantid, fingerprint);
    }
    const known = this.#entries.get(tenantid)?.catalog;
    // Unchanged tables keep their catalog, and thus all plans compiled for it.
    const catalog = known !== undefined && isSame(known, read) ? known : read;
    tenants.useSettings(tenantid, settings);
    const entry: Entry = { catalog, fingerprint, checkedAtMs, checking: undefined };
    this.#entries.set(tenantid, entry);
    return entry;
  }

  /**
   * Checks that the schema can be served.
   * @returns messages on what its owner has to grant
   */
  async #settle(tenantid: number, schema: string): Promise<readonly string[]> {
    const { pool, tenants } = this.deps;
    await checkSchemaSize(pool, schema);
    await tenants.settle(tenantid, schema);
    return grantMissing(pool, schema, (await tenants.names()).tenant(tenantid));
  }

  #fingerprint(schema: string): Promise<string> {
    return readFingerprint(this.deps.pool, schema, this.deps.tenants.fingerprintSeed);
  }

  #now(): number {
    return (this.deps.now ?? Date.now)();
  }
}

function isSame(one: Catalog, other: Catalog): boolean {
  return (
    one.version === other.version &&
    one.schema === other.schema &&
    one.problems.join('\n') === other.problems.join('\n')
  );
}

/** What of a catalog takes memory. */
interface Weighed {
  readonly tables: ReadonlyMap<string, { readonly columns: { readonly size: number } }>;
}

/** In tables of usual size. */
export function weightOf({ tables }: Weighed): number {
  let weight = 1;
  for (const { columns } of tables.values()) weight += Math.max(1, columns.size / USUAL_COLUMNS);
  return Math.ceil(weight);
}
