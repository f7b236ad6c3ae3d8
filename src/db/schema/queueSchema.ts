import type { Pool } from 'pg';
import { UsageError } from '../../foundation/errors.js';

/**
 * Throws UsageError if the queue's schema belongs to somebody else, whose functions would run with the service's rights. The service
 * is a member of the roles of tenants and of applications whose schemas it serves, so that says nothing.
 */
export async function requireQueueSchema(pool: Pool, schema: string): Promise<void> {
  const { rows } = await pool.query<{ owner: string }>(
    `select r.rolname as owner from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
     where n.nspname = $1 and r.rolname <> current_user and not r.rolsuper
       and n.nspowner <> all (array(select nspowner from pg_catalog.pg_namespace where nspname = 'rowpost'))`,
    [schema],
  );
  const [found] = rows;
  if (!found) return;
  throw new UsageError(
    `The schema "${schema}" belongs to "${found.owner}", and the queue in PostgreSQL needs it: rename it, or set REDIS_URL`,
  );
}
