import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Knex } from 'knex';
import type { Pool } from 'pg';
import { UsageError } from '../../foundation/errors.js';
import { openKnex } from './openKnex.js';

// Resolves from both src/ and dist/.
const MIGRATIONS_DIR = fileURLToPath(new URL('../../../migrations', import.meta.url));
const CONFIG = {
  schemaName: 'rowpost',
  tableName: 'migration',
  loadExtensions: ['.js'],
  // The schema may be newer: the previous release still starts during a rollout, and after a rollback.
  disableMigrationsListValidation: true,
};

/**
 * Half of PostgreSQL's `deadlock_timeout`: if running processes and a migration wait for each other, the migration gives
 * up, not a request, and requests queued behind it continue.
 */
const LOCK_TIMEOUT_MS = 500;
const RETRY_MS = 300;
/** A transaction that holds its locks for longer has to be terminated by an operator, or after half of it, if it is a tenant's, is. */
const PATIENCE_MS = 120_000;

interface MigrateOptions {
  readonly patienceMs?: number;
  readonly directory?: string;
  /** Runs a migration that waits for tenants' sessions, and ends these: it waits for less time than the relay leaves them. */
  readonly insist?: <T>(migration: () => Promise<T>) => Promise<T>;
}

/**
 * Migrates the control schema while other processes are running. If two processes run it, the second waits for the first.
 * Throws UsageError if other sessions don't release their locks.
 * @returns the names of the applied migrations
 */
export async function migrate(
  pool: Pool,
  { patienceMs = PATIENCE_MS, directory = MIGRATIONS_DIR, insist }: MigrateOptions = {},
): Promise<readonly string[]> {
  await pool.query('create schema if not exists rowpost');
  const knex = openKnex(pool);
  const applied: string[] = [];
  let until = performance.now() + patienceMs;
  for (let tries = 0; ; tries++) {
    try {
      const apply = (): Promise<readonly string[]> => applyNext(knex, directory, tries % 2 === 1);
      const isLate = performance.now() > until - patienceMs / 2;
      const one = await (insist && isLate ? insist(apply) : apply());
      if (one.length === 0) return applied;
      applied.push(...one);
      until = performance.now() + patienceMs;
    } catch (error) {
      if (!isLocked(error)) throw error;
      if (performance.now() > until) throw new UsageError(LOCKED);
      await delay(RETRY_MS * (1 + Math.random()));
    }
  }
}

/**
 * Applies one migration in its own transaction, so that it holds few locks while it waits for others.
 * @param fromOutbox locks the outbox first: some writers' statements lock it before the view that they write to, others
 * after it, and migrations do both too
 */
async function applyNext(knex: Knex, directory: string, fromOutbox: boolean): Promise<readonly string[]> {
  return knex.transaction(async (trx) => {
    const pending = await listPending(trx, directory);
    if (pending.length === 0) return [];
    await trx.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    if (fromOutbox && pending !== 'all') await trx.raw('lock table rowpost.outbox');
    const [, applied] = (await trx.migrate.up({ ...CONFIG, directory })) as [number, string[]];
    return applied;
  });
}

function isLocked(error: unknown): boolean {
  const { code = '', name } = error as { readonly code?: string; readonly name?: string };
  // Held by another `release` run.
  return LOCK_STATES.has(code) || name === 'MigrationLocked';
}

/** lock_not_available, deadlock_detected */
const LOCK_STATES = new Set(['55P03', '40P01']);
const LOCKED =
  'other sessions hold locks on tables that the migrations change: end what pg_locks and pg_stat_activity show, and run "rowpost release" again';

const FIRST = '0001_schema.js';
const TOO_OLD =
  'the schema "rowpost" of this database was made by a build from before version 0.1.0, which can\'t be upgraded: use an empty database';

/** Names of this build's pending migrations; 'all' if the database was never set up. Throws UsageError if it can't be brought up to date. */
export async function pendingMigrations(pool: Pool): Promise<readonly string[] | 'all'> {
  return listPending(openKnex(pool), MIGRATIONS_DIR);
}

async function listPending(knex: Knex, directory: string): Promise<readonly string[] | 'all'> {
  // Listing them would create knex's table, which only `rowpost release` has the privileges for.
  const { rows } = await knex.raw<{ rows: { present: boolean }[] }>(
    `select to_regclass('rowpost.migration') is not null as present`,
  );
  if (rows[0]?.present !== true) return 'all';
  const [applied, pending] = (await knex.migrate.list({ ...CONFIG, directory })) as [
    unknown[],
    { file: string }[],
  ];
  const names = pending.map((migration) => migration.file);
  if (applied.length > 0 && names.includes(FIRST)) throw new UsageError(TOO_OLD);
  return names;
}
