import type { Pool } from 'pg';
import { inTransaction } from '../pool/inTransaction.js';
import { identifier, statement, type SqlText } from '../sql/sql.js';

/** A table that autovacuum does not finish with, and what it does there: `summary` is about a range of pages of a BRIN index. */
interface HangingTable {
  readonly tenantid: number;
  readonly schema: string;
  readonly table: string;
  readonly work: 'analyze' | 'vacuum' | 'summary';
}

/** `failure` is why it goes on, for example because the service may not change the table. */
export type HangingWork = HangingTable & { readonly failure?: Error };

interface FoundTable extends HangingTable {
  readonly pid: number;
  /** The index, for a summary. */
  readonly relation: string;
}

/** In a row, by default: then it has taken as many of the caller's intervals. */
const MAX_CHECKS = 10;
/** Of a vacuum, which takes longer, also without any function. */
const VACUUM_CHECKS = 6;
/** Above PostgreSQL's deadlock_timeout, after which the work gives way to whoever waits for its lock. */
const LOCK_TIMEOUT_MS = 10_000;

/**
 * PostgreSQL's autovacuum runs the functions of a table's indexes and statistics when it analyzes the table, and those of BRIN
 * indexes when it vacuums it, or, with `autosummarize`, when pages have been added; without any timeout. A few tenants' tables
 * with functions that never end keep all its workers, which every table of the server needs. This ends such work, and prevents
 * it from then on; the table is still vacuumed.
 */
export class AutovacuumGuard {
  #checks = new Map<string, number>();

  constructor(
    private readonly pool: Pool,
    private readonly maxChecks = MAX_CHECKS,
  ) {}

  /** Call it at regular intervals. Throws what pg throws. */
  async endHangingWork(): Promise<readonly HangingWork[]> {
    const { rows } = await this.pool.query<FoundTable>(WORKED_ON);
    const before = this.#checks;
    this.#checks = new Map();
    const hanging = rows.filter(({ pid, schema, relation, work }) => {
      const key = `${pid} ${work} ${schema} ${relation}`;
      const checks = (before.get(key) ?? 0) + 1;
      this.#checks.set(key, checks);
      return checks > this.maxChecks * (work === 'vacuum' ? VACUUM_CHECKS : 1);
    });
    const ended: HangingWork[] = [];
    for (const found of hanging) {
      const { tenantid, schema, table, work } = found;
      const failure = await this.#end(found).catch((error: unknown) => error as Error);
      ended.push({ tenantid, schema, table, work, ...(failure ? { failure } : {}) });
    }
    return ended;
  }

  #end(found: FoundTable): Promise<void> {
    return inTransaction(this.pool, async (client) => {
      await client.query(statement`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await client.query(preventing(found));
    });
  }
}

/** The largest that PostgreSQL takes. */
const MOST_CHANGES = 2_147_483_647;

/** Waits for the lock that the work holds, which ends it. */
function preventing({ schema, relation, work }: FoundTable): SqlText {
  const name = identifier(schema, relation);
  switch (work) {
    case 'analyze':
      return statement`alter table ${name}
        set (autovacuum_analyze_threshold = ${MOST_CHANGES}, autovacuum_analyze_scale_factor = 100)`;
    case 'vacuum':
      return statement`alter table ${name} set (vacuum_index_cleanup = off)`;
    case 'summary':
      return statement`alter index ${name} set (autosummarize = off)`;
  }
}

/** Tenants' tables that autovacuum works on, whose processes have no user. Which one is only in its locks, for roles without privileges. */
const WORKED_ON = statement`
  select distinct l.pid, t.tenantid, n.nspname::text as schema, r.relname::text as table, c.relname::text as relation, w.work
  from pg_catalog.pg_locks l
    cross join lateral (select case
      when exists (select from pg_catalog.pg_stat_progress_analyze p where p.pid = l.pid) then 'analyze'
      when exists (select from pg_catalog.pg_stat_progress_vacuum p where p.pid = l.pid) then 'vacuum'
      else 'summary' end) w(work)
    join pg_catalog.pg_class c on c.oid = l.relation
    left join pg_catalog.pg_index i on i.indexrelid = c.oid
    join pg_catalog.pg_class r on r.oid = coalesce(i.indrelid, c.oid)
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join rowpost.tenant t on t.schema = n.nspname::text
    left join pg_catalog.pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'relation' and l.mode = 'ShareUpdateExclusiveLock' and l.granted and a.usesysid is null
    and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
    and case w.work when 'summary' then i.indexrelid is not null else c.relkind in ('r', 'm') end
    and (w.work <> 'vacuum' or exists (
      select from pg_catalog.pg_index b join pg_catalog.pg_class x on x.oid = b.indexrelid
        join pg_catalog.pg_am m on m.oid = x.relam and m.amname = 'brin'
      where b.indrelid = c.oid and (b.indexprs is not null or b.indpred is not null)))`;
