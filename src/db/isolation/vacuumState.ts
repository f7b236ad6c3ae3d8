import type { StatementRunner } from '../sql/statementRunner.js';

/** Whether PostgreSQL vacuums in time: once it runs out of ids, nobody writes. */
export interface VacuumState {
  readonly isOn: boolean;
  /** Ids of transactions since the oldest row that is not frozen, as a multiple of those after which autovacuum freezes rows. */
  readonly transactions: number;
  /** Likewise those of multixacts, of several transactions that lock a row. */
  readonly multixacts: number;
}

/** Of the whole server, whose databases share the ids. */
export async function readVacuumState(runner: StatementRunner): Promise<VacuumState> {
  const { rows } = await runner.query(
    `select current_setting('autovacuum')::bool and current_setting('track_counts')::bool as "isOn",
       max(age(datfrozenxid)) / current_setting('autovacuum_freeze_max_age')::float8 as transactions,
       max(mxid_age(datminmxid)) / current_setting('autovacuum_multixact_freeze_max_age')::float8 as multixacts
     from pg_catalog.pg_database`,
  );
  return rows[0] as VacuumState;
}
