import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { inTransaction, type TransactionClient } from '../../pool/inTransaction.js';
import { withLockTimeout } from '../../pool/withLockTimeout.js';
import { PRINCIPAL_MAX_AGE_MS } from '../../roles/principal.js';
import { identifier, join, statement } from '../../sql/sql.js';
import type { MovingTenant } from './handOver.js';
import { listTables } from './movedTables.js';

/** With a margin. After this time, no process serves the tenant by what it has cached. */
export const FORGOTTEN_MS = PRINCIPAL_MAX_AGE_MS + 100;

/**
 * Runs `work` in a transaction that has locked the tenant's tables: writers wait, whoever they are, and readers don't. The API
 * refuses mutations meanwhile, instead of letting them wait. If this process or its connection ends, so does the hold. Throws
 * AppError TRANSACTION_CONFLICT if writers don't end, what pg throws and what `work` throws.
 */
export async function withWritesHeld(
  pool: Pool,
  { tenantid, schema }: MovingTenant,
  work: (client: TransactionClient) => Promise<void>,
): Promise<void> {
  try {
    await inTransaction(pool, async (client) => {
      await client.query(
        statement`set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`,
      );
      const { rows } = await client.query<{ pid: number; start: string }>(OWN_SESSION);
      await pool.query(HOLD, [tenantid, rows[0]?.pid, rows[0]?.start]);
      // Those who don't know yet would wait for the lock, and take the tenant's connections from its readers.
      await delay(FORGOTTEN_MS);
      await withLockTimeout(client, async () => {
        const tables = await listTables(client, schema);
        if (tables.length === 0) return;
        const names = tables.map((name) => identifier(schema, name));
        await client.query(statement`lock table ${join(names)} in share mode`);
      });
      await work(client);
    });
  } finally {
    await pool.query(statement`delete from rowpost.write_hold where tenantid = $1`, [tenantid]);
  }
}

const OWN_SESSION = statement`
  select pid, backend_start::text as start from pg_catalog.pg_stat_activity where pid = pg_catalog.pg_backend_pid()`;

/** Seen by others at once, and so not in the transaction of the hold. */
const HOLD = statement`
  insert into rowpost.write_hold (tenantid, pid, backend_start) values ($1, $2, $3)
  on conflict (tenantid) do update set pid = excluded.pid, backend_start = excluded.backend_start`;

/** Ends the hold of a command that may still run somewhere. Idempotent. */
export async function endHold(pool: Pool, tenantid: number): Promise<void> {
  await pool.query(
    statement`with ended as (delete from rowpost.write_hold where tenantid = $1 returning pid, backend_start)
     select pg_catalog.pg_terminate_backend(a.pid, ${END_MS})
     from ended e join pg_catalog.pg_stat_activity a using (pid, backend_start)`,
    [tenantid],
  );
}

const END_MS = 5_000;
