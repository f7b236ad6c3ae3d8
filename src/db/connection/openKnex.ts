import knexFactory, { type Knex } from 'knex';
import type pg from 'pg';
import type { Logger } from '../../log.js';

/** knex over a pool of the service. */
export function openKnex(pool: pg.Pool, log: Logger): Knex {
  return knexFactory({
    client: 'pg',
    connectionPool: pool,
    // Otherwise error messages contain the statement's values: hashes, ciphertexts, templates.
    compileSqlOnError: false,
    log: {
      warn(message: unknown) {
        // Also thrown, or retried; the message is the migration's entire text.
        const isFailedMigration = /^migration (file|failed)/.test(String(message));
        log[isFailedMigration ? 'debug' : 'warn']({ knex: String(message) }, 'knex warns');
      },
      error: (message: unknown) => log.warn({ knex: String(message) }, 'knex reports an error'),
    },
  });
}
