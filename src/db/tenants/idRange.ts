import type { Pool } from 'pg';
import { inTransaction, type TransactionClient } from '../connection/inTransaction.js';
import { quoted } from '../sql.js';

// Installations that exchange tenants number what moves with one in ranges of their own: ids stay the same when it moves.

const ID_RANGE_SIZE = 10_000_000;
export const MAX_ID_RANGE = 213;

const ID_SEQUENCES_SQL = `
  select format('%I.%I', t.nspname, c.relname) as table, a.attname as column,
    pg_get_serial_sequence(format('%I.%I', t.nspname, c.relname), a.attname) as sequence
  from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
    join pg_catalog.pg_namespace t on t.oid = c.relnamespace
  where t.nspname = 'rowpost' and c.relname = any ($1) and a.attidentity <> '' and a.attnum > 0`;

interface IdSequence {
  readonly table: string;
  readonly column: string;
  readonly sequence: string;
}

async function idSequences(
  client: TransactionClient,
  tables: readonly string[],
): Promise<readonly IdSequence[]> {
  const { rows } = await client.query<IdSequence>(ID_SEQUENCES_SQL, [tables]);
  return rows;
}

/** Past the ids that `tables` hold, so that none is given out twice. Ids of other ranges are left alone: their installations go on from there. */
export async function advanceSequences(client: TransactionClient, tables: readonly string[]): Promise<void> {
  for (const { table, column, sequence } of await idSequences(client, tables)) {
    await client.query(
      `select setval('${sequence}', taken.id) from ${sequence} s, lateral (
         select max(${quoted(column)}) as id from ${table}
         where ${quoted(column)} / ${ID_RANGE_SIZE} = s.last_value / ${ID_RANGE_SIZE}) taken
       where taken.id > s.last_value`,
    );
  }
}

/**
 * From now on the ids in `tables` begin at `range` × 10 million, where they are not
 * that far yet. Safe to repeat.
 */
export async function startIdRange(pool: Pool, tables: readonly string[], range: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    for (const { sequence } of await idSequences(client, tables)) {
      await client.query(
        `select setval('${sequence}', $1::bigint) from ${sequence} s where s.last_value < $1::bigint`,
        [range * ID_RANGE_SIZE],
      );
    }
  });
}
