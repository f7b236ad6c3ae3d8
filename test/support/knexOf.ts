import type { Knex } from 'knex';
import type { Database } from '../../src/db/pool/database.js';
import { openKnex } from '../../src/db/schema/openKnex.js';

/** A query builder, for what tests read and change behind the service's back. */
export function knexOf({ pool }: Pick<Database, 'pool'>): Knex {
  return openKnex(pool);
}
