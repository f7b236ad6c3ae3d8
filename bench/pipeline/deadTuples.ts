import pg from 'pg';

/** Dead rows as PostgreSQL counts them, all partitions of a table together. */
export type DeadTuples = ReadonlyMap<string, number>;

export const sumOf = (counts: DeadTuples): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

/** @param schema `rowpost` for the ledger, `bullmq` for the queue's own tables */
export async function countDeadTuples(client: pg.Client, schema: string): Promise<DeadTuples> {
  const { rows } = await client.query<{ table: string; dead: number }>(
    `select coalesce(p.relname, s.relname) as table, sum(s.n_dead_tup)::int as dead
      from pg_stat_user_tables s
        left join pg_inherits i on i.inhrelid = s.relid
        left join pg_class p on p.oid = i.inhparent
      where s.schemaname = $1
      group by 1 having sum(s.n_dead_tup) > 0 order by 2 desc`,
    [schema],
  );
  return new Map(rows.map(({ table, dead }) => [table, dead]));
}

/** A session that keeps all dead rows alive: idle in a transaction whose snapshot is taken. @returns how to end it */
export async function holdSnapshot(databaseUrl: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  // When the run ends early PostgreSQL goes before this session does: what ended it is to be told, not this.
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select count(*) from rowpost.outbox');
  return async () => {
    await client.query('rollback');
    await client.end();
  };
}
