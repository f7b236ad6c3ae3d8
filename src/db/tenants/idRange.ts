import type { Pool } from 'pg';
import { inTransaction, type TransactionClient } from '../connection/inTransaction.js';
import { quoted } from '../sql.js';

// A tenant keeps its ids when it moves, so installations that exchange tenants use separate id ranges.

export const ID_RANGE_SIZE = 10_000_000;
export const MAX_ID_RANGE = 213;
/** Events have ids of their own range as well: 17 trillion, and all below 2^53. */
const EVENT_RANGE_SIZE = 2 ** 44;

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

/** Moves the id sequences past the ids in use. Ids of other ranges are ignored: their own installations continue from there. */
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
 * Starts the id sequences of `tables` at `range` × 10 million, and that of events at its own range, unless they are past that
 * already. Idempotent.
 */
export async function startIdRange(pool: Pool, tables: readonly string[], range: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    const start = async ({ sequence }: IdSequence, id: number): Promise<void> => {
      await client.query(
        `select setval('${sequence}', $1::bigint) from ${sequence} s where s.last_value < $1::bigint`,
        [id],
      );
    };
    for (const each of await idSequences(client, tables)) await start(each, range * ID_RANGE_SIZE);
    for (const each of await idSequences(client, ['outbox'])) await start(each, range * EVENT_RANGE_SIZE);
  });
}
