import type pg from 'pg';
import type { Pool } from 'pg';
import { UsageError } from '../../../foundation/errors.js';
import { inTransaction } from '../../pool/inTransaction.js';
import { identifier, join, sql, statement, textConstant, type Sql } from '../../sql/sql.js';
import { LOCK_NOT_AVAILABLE, sqlState } from '../../sql/sqlState.js';
import { readAsTenant, writeAsTenant } from './asTenant.js';
import { copyTable, insertRows, type Ends } from './copyRows.js';
import type { MovingTenant } from './handOver.js';
import type { MovedTable } from './movedTables.js';

// Logical replication would need wal_level = logical, the attribute REPLICATION and, for the subscription, a superuser or
// pg_create_subscription. Triggers need none of these: they note the keys of rows that change while their table is copied.

const CHANGES_AT_ONCE = 5_000;
/** Writers wait behind a trigger's creation. */
const LOCK_TIMEOUT_MS = 300;
const MAX_TRIES = 100;

/** From the commit of each trigger on, changes of its table are noted. Tables without a primary key are not followed. */
export async function noteChanges(
  pool: Pool,
  { tenantid, schema }: MovingTenant,
  tables: readonly MovedTable[],
): Promise<void> {
  for (const { name, key } of tables) {
    if (key.length === 0) continue;
    const table = identifier(schema, name);
    const args = [String(tenantid), name, ...key].map(textConstant);
    const noting = sql`execute function rowpost.note_move_change(${join(args, ', ')})`;
    await changeTable(
      pool,
      sql`create trigger rowpost_move after insert or update or delete on ${table} for each row ${noting};
       create trigger rowpost_move_all after truncate on ${table} for each statement ${noting}`,
    );
  }
}

/** Idempotent. */
export async function stopNotingChanges(pool: Pool, { tenantid, schema }: MovingTenant): Promise<void> {
  const { rows } = await pool.query<{ trigger: string; table: string }>(
    statement`select t.tgname::text as trigger, c.relname::text as table
     from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
       join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1::text::name and t.tgfoid = 'rowpost.note_move_change'::pg_catalog.regproc and t.tgparentid = 0`,
    [schema],
  );
  for (const { trigger, table } of rows) {
    await changeTable(
      pool,
      sql`drop trigger if exists ${identifier(trigger)} on ${identifier(schema, table)}`,
    );
  }
  await pool.query(statement`delete from rowpost.move_change where tenantid = $1`, [tenantid]);
}

/** Runs statements in a transaction of its own, again while others use the table. */
async function changeTable(pool: Pool, statements: Sql): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await inTransaction(pool, async (client) => {
        await client.query(statement`set local lock_timeout = ${LOCK_TIMEOUT_MS}; ${statements}`);
      });
      return;
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      if (tries === MAX_TRIES) {
        throw new UsageError("transactions on the tenant's tables don't end: see pg_stat_activity");
      }
    }
  }
}

interface Change {
  readonly changeid: string;
  readonly table_name: string;
  /** JSON text; null for a table that was truncated. */
  readonly key: string | null;
}

/**
 * Brings changed rows up to date in the target, as they are now. Applying a change twice is harmless, so it is
 * forgotten only afterwards.
 * @returns the number of changes; fewer than a round takes means that none is left, for the moment
 */
export async function applyChanges(
  { source, target, here, there }: Ends,
  tables: readonly MovedTable[],
  isFenced: boolean,
): Promise<number> {
  const { rows: changes } = await source.pool.query<Change>(
    statement`select changeid::text, table_name, key::text from rowpost.move_change where tenantid = $1
     order by changeid limit ${CHANGES_AT_ONCE}`,
    [here.tenantid],
  );
  if (changes.length === 0) return 0;
  await readAsTenant(source, here, isFenced, (from) =>
    writeAsTenant(target, there, (to) => applyRound(from, to, here.schema, tables, changes)),
  );
  await source.pool.query(statement`delete from rowpost.move_change where changeid = any ($1::bigint[])`, [
    changes.map(({ changeid }) => changeid),
  ]);
  return changes.length;
}

/** Deletes first: a value of a unique column may have gone from one row to another. */
async function applyRound(
  from: pg.ClientBase,
  to: pg.ClientBase,
  schema: string,
  tables: readonly MovedTable[],
  changes: readonly Change[],
): Promise<void> {
  const concerned = tables
    .map((table) => ({ table, of: changes.filter(({ table_name: name }) => name === table.name) }))
    .filter(({ of }) => of.length > 0)
    .map(({ table, of }) => ({
      table,
      isTruncated: of.some(({ key }) => key === null),
      keys: [...new Set(of.flatMap(({ key }) => key ?? []))],
    }));
  for (const { table, isTruncated, keys } of concerned) {
    if (isTruncated) await to.query(statement`delete from ${identifier(schema, table.name)}`);
    else
      await to.query(
        statement`delete from ${identifier(schema, table.name)} t using ${keyed(schema, table)}`,
        [keys],
      );
  }
  for (const { table, isTruncated, keys } of concerned) {
    if (isTruncated) {
      await copyTable(from, to, schema, table);
      continue;
    }
    const { rows } = await from.query<{ row: string }>(
      statement`select concat(t) as row from ${table.from} t, ${keyed(schema, table)}`,
      [keys],
    );
    await insertRows(
      to,
      schema,
      table,
      rows.map(({ row }) => row),
    );
  }
}

/** SQL: joins table `t` with the keys `$1`. */
function keyed(schema: string, { name, key }: MovedTable): Sql {
  const pairs = key.map((column) => sql`t.${identifier(column)} = k.${identifier(column)}`);
  return sql`(select r.* from unnest($1::text[]) k, jsonb_populate_record(null::${identifier(schema, name)}, k::jsonb) r) k
    where ${join(pairs, ' and ')}`;
}

/** Copies tables without a key again, once the tenant is fenced. */
export async function copyKeyless(
  { source, target, here, there }: Ends,
  tables: readonly MovedTable[],
): Promise<void> {
  const keyless = tables.filter(({ key }) => key.length === 0);
  if (keyless.length === 0) return;
  await readAsTenant(source, here, true, (from) =>
    writeAsTenant(target, there, async (to) => {
      for (const table of keyless) {
        await to.query(statement`delete from ${identifier(here.schema, table.name)}`);
        await copyTable(from, to, here.schema, table);
      }
    }),
  );
}
