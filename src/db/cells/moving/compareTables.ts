import type pg from 'pg';
import { UsageError } from '../../../foundation/errors.js';
import { identifier, statement } from '../../sql/sql.js';
import { listTables } from './movedTables.js';
import type { MovingTenant } from './handOver.js';

/** Begins to compare: from here on the session sees the rows as they are, and prints them as every other server does. */
export const SNAPSHOT = statement`
  begin isolation level repeatable read, read only;
  set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
  set local timezone = 'UTC'; set local datestyle = 'ISO'; set local intervalstyle = 'postgres';
  set local bytea_output = 'hex'; set local extra_float_digits = 1; set local lc_monetary = 'C';
  select 1`;

/** Compares the rows of two sessions' snapshots, logged in as the tenant. Throws UsageError for a table whose rows differ. */
export async function requireSameRows(
  sessions: readonly [here: pg.Client, there: pg.Client],
  { schema }: MovingTenant,
): Promise<void> {
  for (const table of await listTables(sessions[0], schema)) {
    const [here, there] = await Promise.all(sessions.map((session) => digest(session, schema, table)));
    if (here !== there) {
      throw new UsageError(
        `the rows of "${table}" differ: ${String(here)} here, ${String(there)} in the target`,
      );
    }
  }
  await Promise.all(sessions.map((session) => session.query(statement`commit`)));
}

async function digest(session: pg.Client, schema: string, table: string): Promise<string | undefined> {
  const { rows } = await session.query<{ digest: string }>(statement`
    select count(*)::text || ' rows, sum ' || coalesce(
        sum(pg_catalog.hashtextextended((each.*)::text collate pg_catalog."C", 0)::numeric), 0)::text as digest
    from ${identifier(schema, table)} each`);
  return rows[0]?.digest;
}
