import { sql, statement, wholeNumber } from '../sql/sql.js';
import type { StatementRunner } from '../sql/statementRunner.js';

/** Whether PostgreSQL vacuums in time: once it runs out of ids, nobody writes. */
export interface VacuumState {
  readonly isOn: boolean;
  /** Ids of transactions since the oldest row that is not frozen, as a multiple of those after which autovacuum freezes rows. */
  readonly transactions: number;
  /** Likewise those of multixacts, of several transactions that lock a row. */
  readonly multixacts: number;
  /** About how much of PostgreSQL's space for the ids of those transactions is in use, from 0 to 1; 0 since version 19, which has no limit. */
  readonly members: number;
}

/** Multixacts of which the members are counted, evenly from the oldest to the newest, and up to how many. */
const SAMPLES = 50;
const MAX_MEMBERS = 100_000;

/** PostgreSQL before version 19 says nowhere how many there are. */
const MEMBERS = sql`
  select coalesce(avg(members) * max(age) / 4294967296, 0)::float8
  from (select datminmxid::text::bigint as oldest, mxid_age(datminmxid) as age from pg_catalog.pg_database order by 2 desc limit 1) d,
    generate_series(0, least(age, ${wholeNumber(SAMPLES)}) - 1) n,
    lateral (select count(*) as members from (
      select pg_get_multixact_members((mod(oldest - 1 + n::bigint * age / least(age, ${wholeNumber(SAMPLES)}), 4294967295) + 1)::text::xid)
      limit ${wholeNumber(MAX_MEMBERS)}) m) c
  where current_setting('server_version_num')::int < 190000`;

/** Of the whole server, whose databases share the ids. */
export async function readVacuumState(runner: StatementRunner): Promise<VacuumState> {
  const { rows } = await runner.query(
    statement`select current_setting('autovacuum')::bool and current_setting('track_counts')::bool as "isOn",
       max(age(datfrozenxid)) / current_setting('autovacuum_freeze_max_age')::float8 as transactions,
       max(mxid_age(datminmxid)) / current_setting('autovacuum_multixact_freeze_max_age')::float8 as multixacts,
       (${MEMBERS}) as members
     from pg_catalog.pg_database`,
  );
  return rows[0] as VacuumState;
}
