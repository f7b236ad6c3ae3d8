import type { Pool } from 'pg';
import { inTransaction } from '../pool/inTransaction.js';
import { identifier, statement } from '../sql/sql.js';

/** A table that autovacuum does not finish analyzing. */
interface HangingTable {
  readonly tenantid: number;
  readonly schema: string;
  readonly table: string;
}

/** `failure` is why it goes on, for example because the service may not change the table. */
export type HangingAnalyze = HangingTable & { readonly failure?: Error };

/** In a row, by default: then its analysis has taken as many of the caller's intervals. */
const MAX_CHECKS = 10;
/** Above PostgreSQL's deadlock_timeout, after which the analysis gives way to whoever waits for its lock. */
const LOCK_TIMEOUT_MS = 10_000;

/**
 * PostgreSQL's autovacuum runs the functions of a table's indexes and statistics when it analyzes the table, without any timeout. A
 * few tenants' tables with functions that never end keep all its workers, which every table of the server needs. This ends such
 * an analysis, and the automatic analyses of that table from then on; it is still vacuumed.
 */
export class AutovacuumGuard {
  #checks = new Map<string, number>();

  constructor(
    private readonly pool: Pool,
    private readonly maxChecks = MAX_CHECKS,
  ) {}

  /** Call it at regular intervals. Throws what pg throws. */
  async endHangingAnalyzes(): Promise<readonly HangingAnalyze[]> {
    const { rows } = await this.pool.query<HangingTable & { pid: number }>(ANALYZED);
    const before = this.#checks;
    this.#checks = new Map();
    const hanging = rows.filter(({ pid, schema, table }) => {
      const key = `${pid} ${schema} ${table}`;
      const checks = (before.get(key) ?? 0) + 1;
      this.#checks.set(key, checks);
      return checks > this.maxChecks;
    });
    const ended: HangingAnalyze[] = [];
    for (const { tenantid, schema, table } of hanging) {
      const failure = await this.#endAnalyzes({ tenantid, schema, table }).catch(
        (error: unknown) => error as Error,
      );
      ended.push({ tenantid, schema, table, ...(failure ? { failure } : {}) });
    }
    return ended;
  }

  #endAnalyzes({ schema, table }: HangingTable): Promise<void> {
    return inTransaction(this.pool, async (client) => {
      await client.query(statement`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await client.query(
        statement`alter table ${identifier(schema, table)}
          set (autovacuum_analyze_threshold = ${MOST_CHANGES}, autovacuum_analyze_scale_factor = 100)`,
      );
    });
  }
}

/** The largest that PostgreSQL takes. */
const MOST_CHANGES = 2_147_483_647;

/** Tenants' tables that autovacuum analyzes, whose processes have no user. Which one is only in its locks, for roles without privileges. */
const ANALYZED = statement`
  select distinct l.pid, t.tenantid, n.nspname::text as schema, c.relname::text as table
  from pg_catalog.pg_stat_progress_analyze p
    join pg_catalog.pg_locks l on l.pid = p.pid and l.locktype = 'relation' and l.mode = 'ShareUpdateExclusiveLock' and l.granted
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join rowpost.tenant t on t.schema = n.nspname::text
    left join pg_catalog.pg_stat_activity a on a.pid = p.pid
  where p.datname = current_database() and a.usesysid is null and c.relkind in ('r', 'm')`;
