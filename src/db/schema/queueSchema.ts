import type { PoolClient } from 'pg';
import { UsageError } from '../../foundation/errors.js';

/** Throws UsageError if the queue's schema belongs to somebody else, whose functions would run with the service's rights. */
export async function requireQueueSchema(client: PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query<{ owner: string }>(
    `select pg_catalog.pg_get_userbyid(nspowner) as owner from pg_catalog.pg_namespace
     where nspname = $1 and not pg_has_role(nspowner, 'usage')`,
    [schema],
  );
  const [found] = rows;
  if (!found) return;
  throw new UsageError(
    `The schema "${schema}" belongs to "${found.owner}", and the queue in PostgreSQL needs it: rename it, or set REDIS_URL`,
  );
}
