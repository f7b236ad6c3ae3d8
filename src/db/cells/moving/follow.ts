import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { UsageError } from '../../../foundation/errors.js';
import { findNotPlain } from '../../isolation/plainSchema.js';
import { inTransaction } from '../../pool/inTransaction.js';
import type { Database } from '../../pool/database.js';
import { identifier, join, statement } from '../../sql/sql.js';
import { followPublication } from '../placement.js';
import type { MovingTenant } from './handOver.js';

// A large tenant's tables reach the target before its writes are held: by a publication of the source, which is also the mark that
// they do, and a subscription that the operator creates in the target. PostgreSQL copies the rows and applies what changes since.

/** Throws UsageError unless the tables can be followed: all their rows and changes, and no code of the tenant's that whoever applies them would run. */
export async function requireFollowable(
  { pool, tenants }: Database,
  { schema, role }: MovingTenant,
): Promise<void> {
  const { shared } = await tenants.names();
  const code = await inTransaction(pool, (client) => findNotPlain(client, schema, { shared, tenant: role }));
  if (code !== undefined) {
    throw new UsageError(`the schema "${schema}" has code of its own (${code}): move it without --follow`);
  }
  const { rows } = await pool.query<{ problems: string[] }>(PROBLEMS, [schema]);
  const problems = rows[0]?.problems ?? [];
  if (problems.length > 0) throw new UsageError(`the tables can't be followed: ${problems.join(', ')}`);
}

/**
 * Once tables are published, PostgreSQL rejects updates of rows that it can't identify. Where it can't compare them in the target, it tries
 * again without end, and the source keeps its log meanwhile.
 */
const PROBLEMS = statement`
  with leaf as (
    select c.oid, c.relname, c.relpersistence, c.relreplident from pg_catalog.pg_class c
    where c.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = $1::text::name) and c.relkind = 'r'
  )
  select array(
    select 'the source has wal_level ' || pg_catalog.current_setting('wal_level') || ', and not logical'
      where pg_catalog.current_setting('wal_level') <> 'logical'
    union all select 'there are none' where not exists (select from leaf)
    union all select pg_catalog.format('%I is not logged', relname) from leaf where relpersistence <> 'p'
    union all select pg_catalog.format('%I has neither a primary key nor another replica identity', relname) from leaf
      where relreplident = 'n' or relreplident = 'd'
        and not exists (select from pg_catalog.pg_index i where i.indrelid = leaf.oid and i.indisprimary)
    union all select pg_catalog.format('%I has all columns as its replica identity, one of a type without equality', relname) from leaf
      where relreplident = 'f' and exists (
        with recursive part(type) as (
          select atttypid from pg_catalog.pg_attribute where attrelid = leaf.oid and attnum > 0 and not attisdropped
          union
          select case when y.typtype = 'd' then y.typbasetype else y.typelem end from part join pg_catalog.pg_type y on y.oid = part.type
          where y.typtype = 'd' or y.typcategory = 'A'
        )
        select from part join pg_catalog.pg_type y on y.oid = part.type
        where y.typnamespace = 'pg_catalog'::regnamespace
          and y.typname = any ('{json,xml,point,line,lseg,box,path,polygon,circle}'))
  ) as problems`;

export async function publishTables(pool: Pool, { tenantid, schema }: MovingTenant): Promise<void> {
  const tables = join((await readLeaves(pool, schema)).map((name) => identifier(schema, name)));
  await pool.query(
    statement`create publication ${identifier(followPublication(tenantid))} for table ${tables}`,
  );
}

/** Idempotent. */
export async function unpublishTables(pool: Pool, tenantid: number): Promise<void> {
  await pool.query(statement`drop publication if exists ${identifier(followPublication(tenantid))}`);
}

/** Tables and partitions with rows of their own. */
async function readLeaves(pool: Pool, schema: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    statement`select c.relname::text as name from pg_catalog.pg_class c
     where c.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = $1::text::name) and c.relkind = 'r'`,
    [schema],
  );
  return rows.map(({ name }) => name);
}

/** What applies the changes in the target. */
interface Subscription {
  readonly name: string;
  readonly slot: string;
  readonly isEnabled: boolean;
  /** Tables that were not copied yet, or are not part of it. */
  readonly missing: readonly string[];
}

async function readSubscription(
  target: Pool,
  { tenantid, schema }: MovingTenant,
): Promise<Subscription | undefined> {
  const { rows } = await target.query<Subscription>(SUBSCRIPTION, [followPublication(tenantid), schema]);
  return rows[0];
}

/** Without `subconninfo`, which only superusers may read. */
const SUBSCRIPTION = statement`
  select s.subname::text as name, s.subslotname::text as slot, s.subenabled as "isEnabled", array(
    select c.relname::text from pg_catalog.pg_class c
    where c.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = $2::text::name) and c.relkind = 'r'
      and not exists (select from pg_catalog.pg_subscription_rel r where r.srsubid = s.oid and r.srrelid = c.oid and r.srsubstate = 'r')
    order by 1) as missing
  from pg_catalog.pg_subscription s
  where s.subdbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
    and $1 = any (s.subpublications)`;

/** Throws UsageError if a subscription still writes to the tables, which then can't be dropped. */
export async function requireUnsubscribed(target: Pool, there: MovingTenant): Promise<void> {
  const found = await readSubscription(target, there);
  if (found) {
    throw new UsageError(
      `the target still has the subscription "${found.name}": drop it, and run the command again`,
    );
  }
}

/** Throws UsageError unless a subscription has copied all tables and applies what changes. */
export async function requireSubscribed(target: Pool, there: MovingTenant): Promise<Subscription> {
  const found = await readSubscription(target, there);
  if (!found) {
    throw new UsageError(
      `nothing in the target subscribes to the publication "${followPublication(there.tenantid)}"`,
    );
  }
  const { name, isEnabled, missing } = found;
  if (!isEnabled) throw new UsageError(`the subscription "${name}" is disabled`);
  if (missing.length > 0) {
    throw new UsageError(`the subscription "${name}" has not copied all tables yet: ${missing.join(', ')}`);
  }
  return found;
}

/** Writes are held: what was committed before is applied within this time, or the hold is given up. */
const PATIENCE_MS = 10_000;
const POLL_MS = 20;

/** Waits until the target has what the source's writers committed, while a hold keeps them from going on. Throws UsageError. */
export async function receiveTail(source: Pool, target: Pool, there: MovingTenant): Promise<void> {
  const { name, slot } = await requireSubscribed(target, there);
  const { rows } = await source.query<{ end: string }>(
    statement`select pg_catalog.pg_current_wal_insert_lsn()::text as end`,
  );
  // The log goes on and is flushed, or a subscriber of an idle server might never confirm its end.
  await source.query(statement`update rowpost.write_hold set tenantid = tenantid where tenantid = $1`, [
    there.tenantid,
  ]);
  const until = performance.now() + PATIENCE_MS;
  do {
    const { rowCount } = await source.query(
      statement`select from pg_catalog.pg_replication_slots
       where slot_name = $1::text::name and database = pg_catalog.current_database() and confirmed_flush_lsn >= $2::pg_lsn`,
      [slot, rows[0]?.end],
    );
    if (rowCount === 1) return;
    await delay(POLL_MS);
  } while (performance.now() < until);
  throw new UsageError(
    `the subscription "${name}" has not caught up within ${PATIENCE_MS / 1000} seconds: see pg_stat_subscription and the log of the target's PostgreSQL`,
  );
}
