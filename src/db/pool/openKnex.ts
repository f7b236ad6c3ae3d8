import knexFactory, { type Knex } from 'knex';
import type pg from 'pg';
import type { Logger } from '../../foundation/observability/log.js';

/** knex over a pool of the service. */
export function openKnex(pool: pg.Pool, log: Logger): Knex {
  return knexFactory({
    client: 'pg',
    connectionPool: pool,
    // Otherwise error messages contain the statement's values: hashes, ciphertexts, templates.
    compileSqlOnError: false,
    log: {
      warn(message: unknown) {
        // Also thrown, or retried: a migration's message is its entire text, and an outage has one for every request.
        const isThrown = /^(?:migration (?:file|failed)|Acquire connection error)/.test(String(message));
        log[isThrown ? 'debug' : 'warn']({ knex: String(message) }, 'knex warns');
      },
      error: (message: unknown) => log.warn({ knex: String(message) }, 'knex reports an error'),
    },
  });
}
