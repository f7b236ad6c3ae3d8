import type { Pool } from 'pg';
import { inTransaction, type TransactionClient } from '../pool/inTransaction.js';
import { identifier, quoted, statement, textConstant, type Sql } from '../sql/sql.js';

// A tenant keeps its ids when it moves, so installations that exchange tenants use separate id ranges.

export const ID_RANGE_SIZE = 10_000_000;
export const MAX_ID_RANGE = 213;
/** Events have ids of their own range as well: 17 trillion, and all below 2^53. */
const EVENT_RANGE_SIZE = 2 ** 44;

const ID_SEQUENCES_SQL = statement`
  select c.relname::text as table, a.attname::text as column, s.relname::text as sequence
  from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
    join pg_catalog.pg_namespace t on t.oid = c.relnamespace
    join pg_catalog.pg_depend d on d.refobjid = a.attrelid and d.refobjsubid = a.attnum and d.deptype = 'i'
    join pg_catalog.pg_class s on s.oid = d.objid and s.relkind = 'S'
  where t.nspname = 'rowpost' and c.relname = any ($1::text[]) and a.attidentity <> '' and a.attnum > 0`;

interface IdSequence {
  readonly table: string;
  readonly column: string;
  readonly sequence: string;
}

const ofRowpost = (name: string): Sql => identifier('rowpost', name);
const asText = (name: string): Sql => textConstant(quoted('rowpost', name));

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
      statement`select setval(${asText(sequence)}, taken.id) from ${ofRowpost(sequence)} s, lateral (
         select max(${identifier(column)}) as id from ${ofRowpost(table)}
         where ${identifier(column)} / ${ID_RANGE_SIZE} = s.last_value / ${ID_RANGE_SIZE}) taken
       where taken.id > s.last_value`,
    );
  }
}

/**
 * Whether rows of the tenant have ids that can't be theirs: below 1, or of this installation's own range and not given yet. The
 * latter would let whoever wrote them use the range up.
 */
export async function hasIdsAhead(
  client: TransactionClient,
  tables: readonly string[],
  tenantid: number,
): Promise<boolean> {
  for (const { table, column, sequence } of await idSequences(client, tables)) {
    const id = identifier(column);
    const { rowCount } = await client.query(
      statement`select from ${ofRowpost(table)} t, ${ofRowpost(sequence)} s where t.tenantid = $1 and (t.${id} < 1
        or t.${id} / ${ID_RANGE_SIZE} = s.last_value / ${ID_RANGE_SIZE} and t.${id} > s.last_value) limit 1`,
      [tenantid],
    );
    if ((rowCount ?? 0) > 0) return true;
  }
  return false;
}

/**
 * Starts the id sequences of `tables` at `range` × 10 million, and that of events at its own range, unless they are past that
 * already. Idempotent.
 */
export async function startIdRange(pool: Pool, tables: readonly string[], range: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    const start = async ({ sequence }: IdSequence, id: number): Promise<void> => {
      await client.query(
        statement`select setval(${asText(sequence)}, $1::bigint) from ${ofRowpost(sequence)} s where s.last_value < $1::bigint`,
        [id],
      );
    };
    for (const each of await idSequences(client, tables)) await start(each, range * ID_RANGE_SIZE);
    for (const each of await idSequences(client, ['outbox'])) await start(each, range * EVENT_RANGE_SIZE);
  });
}
