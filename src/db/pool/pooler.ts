import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { UsageError } from '../../foundation/errors.js';
import type { Database } from './database.js';
import { backendOf } from '../wire/index.js';
import { settingsNotInForce } from './sessionSettings.js';

const DIRECT_HINT =
  'Set DATABASE_DIRECT_URL to PostgreSQL itself, and run "rowpost release": see docs/how-to/poolers.md.';

const DIRECT_IS_POOLED =
  'DATABASE_DIRECT_URL leads to a connection pooler too: it has to lead to PostgreSQL itself.';

/** The setting that an address was read from. */
export type AddressSetting = 'DATABASE_URL' | 'DATABASE_DIRECT_URL';

/** Explains that the startup parameter `options` was rejected. */
export function poolerRefusesOptions(setting: AddressSetting): string {
  return setting === 'DATABASE_URL' ? REFUSES_OPTIONS : DIRECT_IS_POOLED;
}

const REFUSES_OPTIONS = `DATABASE_URL leads to a connection pooler, which refuses the startup parameter "options". ${DIRECT_HINT}`;

/**
 * Throws UsageError if there is a connection pooler that is not declared as one, or that does not support the
 * configuration. Throws what pg throws.
 */
export async function requireSessions(
  database: Pick<Database, 'pool' | 'ledgerPool' | 'isPooled' | 'settings'>,
  preparedStatements: boolean,
): Promise<void> {
  const { pool, ledgerPool, isPooled } = database;
  if (!(await leadsToSession(ledgerPool))) {
    throw new UsageError(
      isPooled
        ? DIRECT_IS_POOLED
        : `DATABASE_URL leads to a connection pooler: what is set for a session, listened for or prepared there is lost or leaks into other sessions. ${DIRECT_HINT}`,
    );
  }
  if (!isPooled) return;
  const [through, direct] = await Promise.all([readIdentity(pool), readIdentity(ledgerPool)]);
  if (through !== direct)
    throw new UsageError('DATABASE_URL and DATABASE_DIRECT_URL lead to different databases.');
  const problems = await settingsNotInForce(pool, database.settings);
  if (problems.length > 0) {
    throw new UsageError(
      `Through the pooler of DATABASE_URL ${problems.join('; ')}. Run "rowpost release" with the settings of this process, and have the pooler open its connections anew (PgBouncer: RECONNECT).`,
    );
  }
  if (preparedStatements && !(await keepsPreparedStatements(pool))) {
    throw new UsageError(
      'The pooler of DATABASE_URL loses prepared statements between transactions: set PREPARED_STATEMENTS=off, or take PgBouncer 1.21 or newer with max_prepared_statements above 0.',
    );
  }
}

/** Whether the backend id received at startup is the session's: a pooler sends its own. */
async function leadsToSession(pool: Pool): Promise<boolean> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return rows[0]?.pid === backendOf(client).processID;
  } finally {
    client.release();
  }
}

async function readIdentity(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ identity: string }>(
    `select concat_ws('.', oid, extract(epoch from pg_postmaster_start_time())) as identity
     from pg_catalog.pg_database where datname = current_database()`,
  );
  return rows[0]?.identity ?? '';
}

/** Prepares a statement, keeps that session busy, and runs the statement on another. */
async function keepsPreparedStatements(pool: Pool): Promise<boolean> {
  const [first, second] = [await pool.connect(), await pool.connect()];
  try {
    const probe = { name: `rowpost_probe_${randomBytes(8).toString('hex')}`, text: 'select 1' } as const;
    await first.query(probe);
    await second.query('begin');
    await second.query('select');
    return await first.query(probe).then(
      () => true,
      () => false,
    );
  } finally {
    first.release(true);
    second.release(true);
  }
}
