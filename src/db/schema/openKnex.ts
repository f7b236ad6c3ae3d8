import knexFactory, { type Knex } from 'knex';
import type { Pool } from 'pg';

/** knex for migrations. It holds nothing of its own, and logs nothing: all that it would warn of is also thrown. */
export function openKnex(pool: Pool): Knex {
  const ignore = (): void => undefined;
  return knexFactory({
    client: 'pg',
    connectionPool: pool,
    // Otherwise error messages contain a statement's values.
    compileSqlOnError: false,
    log: { debug: ignore, warn: ignore, error: ignore, deprecate: ignore },
  });
}
