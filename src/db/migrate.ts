import { fileURLToPath } from 'node:url';
import type { Knex } from 'knex';

// Resolves from both src/db and dist/db.
const MIGRATIONS_DIR = fileURLToPath(new URL('../../migrations', import.meta.url));
const CONFIG = {
  directory: MIGRATIONS_DIR,
  schemaName: 'rowpost',
  tableName: 'migration',
  loadExtensions: ['.js'],
  // The schema may be newer: the previous release still starts during a rollout, and after a rollback.
  disableMigrationsListValidation: true,
};

/**
 * Migrates the control schema. If two processes run it, the second waits for the first.
 * @returns the names of the applied migrations
 */
export async function migrate(knex: Knex): Promise<readonly string[]> {
  await knex.raw('create schema if not exists rowpost');
  const [, applied] = (await knex.migrate.latest(CONFIG)) as [number, string[]];
  return applied;
}

/** Names of this build's pending migrations; 'all' if the database was never set up. */
export async function pendingMigrations(knex: Knex): Promise<readonly string[] | 'all'> {
  // Listing them would create knex's table, which only a release has the rights for.
  const { rows } = await knex.raw<{ rows: { present: boolean }[] }>(
    `select to_regclass('rowpost.migration') is not null as present`,
  );
  if (rows[0]?.present !== true) return 'all';
  const [, pending] = (await knex.migrate.list(CONFIG)) as [unknown, { file: string }[]];
  return pending.map((migration) => migration.file);
}
