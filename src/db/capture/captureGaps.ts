import type { StatementRunner } from '../sql/statementRunner.js';
import { sql, statement, textConstant, wholeNumber } from '../sql/sql.js';
import { partitionTree } from './partitionTree.js';

/** A tenant with captured tables that lack triggers, or whose role may not use the schema any more. */
export interface LostCapture {
  readonly tenantid: number;
  readonly schema: string;
  readonly adopted: boolean;
  readonly lacksUsage: boolean;
  /** By SQL name. */
  readonly tables: readonly string[];
}

/** Of a tenant's tables and partitions; of more, the rest is not watched. Everybody's are watched by one statement. */
const MAX_WATCHED = 10_000;

/** Of all tenants, in one statement. Throws what the driver throws. @param tenantPrefix of the names of tenants' roles */
export async function findLostCapture(
  runner: StatementRunner,
  { tenantPrefix }: { readonly tenantPrefix: string },
): Promise<readonly LostCapture[]> {
  const { rows } = await runner.query(statement`
    with lost as (
      select t.tenantid, array_agg(distinct p.table_name order by p.table_name) as tables
      from (select distinct tenantid from rowpost.captured_table) w join rowpost.tenant t using (tenantid)
        join pg_catalog.pg_namespace n on n.nspname = t.schema::name
        cross join lateral (
          select c.table_name, p.oid from rowpost.captured_table c
            cross join lateral (select r.oid from pg_catalog.pg_class r where r.relname = c.table_name::name
              and r.relnamespace = n.oid and r.relkind in ('r', 'p') and not r.relispartition offset 0) r
            cross join lateral ${partitionTree(sql`r.oid`)} p
          where c.tenantid = t.tenantid limit ${MAX_WATCHED}
        ) p
      where t.moved_to is null and (select count(distinct g.tgtype) from pg_catalog.pg_trigger g
        where g.tgrelid = p.oid and g.tgfoid = 'rowpost.capture_rows'::regproc and g.tgtype in (4, 8, 16, 32)) < 4
      group by t.tenantid
    )
    select t.tenantid, t.schema, t.adopted, u.lacks as "lacksUsage", coalesce(l.tables, '{}') as tables
    from rowpost.tenant t join pg_catalog.pg_namespace n on n.nspname = t.schema::name
      left join lost l using (tenantid)
      left join pg_catalog.pg_roles r on r.rolname = (${textConstant(tenantPrefix)} || t.tenantid)::name,
      lateral (select t.adopted and r.oid is not null and not has_schema_privilege(r.oid, n.oid, 'usage') as lacks) u
    where t.moved_to is null and (l.tenantid is not null or u.lacks)
    order by t.tenantid`);
  return rows as readonly LostCapture[];
}

/** Opens a gap for each lost table that has none, since the check before this one, and records this one. Throws what the driver throws. */
export async function recordCheck(runner: StatementRunner, lost: readonly LostCapture[]): Promise<void> {
  for (const { tenantid, tables } of lost) {
    await runner.query(
      statement`
      insert into rowpost.capture_gap (tenantid, table_name, since)
      select ${wholeNumber(tenantid)}, l.name, ${LAST_CHECK} from unnest($1::text[]) l(name)
      where not exists (select from rowpost.capture_gap g
        where g.tenantid = ${wholeNumber(tenantid)} and g.table_name = l.name and g.until is null)`,
      [tables],
    );
  }
  await runner.query('insert into rowpost.capture_check default values');
}

/**
 * Triggers of a table were missing until now. Throws what the driver throws.
 * @param isArriving from another installation: of what happened there, the gaps that came along tell
 */
export async function endGap(
  runner: StatementRunner,
  tenantid: number,
  table: string,
  isArriving: boolean,
): Promise<void> {
  const ended = sql`update rowpost.capture_gap set until = clock_timestamp()
    where tenantid = ${wholeNumber(tenantid)} and table_name = ${textConstant(table)} and until is null`;
  if (isArriving) {
    await runner.query(statement`${ended}`);
    return;
  }
  await runner.query(statement`
    with ended as (${ended} returning 1)
    insert into rowpost.capture_gap (tenantid, table_name, since, until)
    select ${wholeNumber(tenantid)}, ${textConstant(table)}, ${LAST_CHECK}, clock_timestamp() where not exists (select from ended)`);
}

const LAST_CHECK = sql`(select time from rowpost.capture_check order by checkid desc limit 1)`;

const MAX_SHOWN = 3;

/** The latest gaps of a table, as messages. Throws what the driver throws. */
export async function describeGaps(
  runner: StatementRunner,
  tenantid: number,
  table: string,
): Promise<readonly string[]> {
  const { rows } = await runner.query(statement`
    select to_json(since) #>> '{}' as since, to_json(until) #>> '{}' as until from rowpost.capture_gap
    where tenantid = ${wholeNumber(tenantid)} and table_name = ${textConstant(table)}
    order by until desc nulls first limit ${MAX_SHOWN}`);
  return (rows as readonly { since: string | null; until: string | null }[]).map(
    ({ since, until }) =>
      `Changes by SQL were not captured ${since === null ? 'from a time that is not known' : `from ${since} at the earliest`} ${until === null ? 'until now' : `until ${until}`}: triggers of the table were missing, as after it was dropped and created again.`,
  );
}

/** Forgets what is past retention. Throws what the driver throws. */
export async function pruneGaps(runner: StatementRunner, retentionDays: number): Promise<void> {
  await runner.query(
    statement`delete from rowpost.capture_gap where until < now() - ${wholeNumber(retentionDays)} * interval '1 day'`,
  );
  await runner.query(
    statement`delete from rowpost.capture_check where time < now() - interval '1 hour' and checkid < (select max(checkid) from rowpost.capture_check)`,
  );
}
