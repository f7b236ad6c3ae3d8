import { fileURLToPath } from 'node:url';
import type { Knex } from 'knex';

// The same place relative to src/db and to dist/db.
const MIGRATIONS_DIR = fileURLToPath(new URL('../../migrations', import.meta.url));
const CONFIG = {
  directory: MIGRATIONS_DIR,
  schemaName: 'rowpost',
  tableName: 'migration',
  loadExtensions: ['.js'],
  // A newer release may have been here: while it is rolled out, or after it was rolled back, that of before still starts.
  disableMigrationsListValidation: true,
};

/** Brings the control schema up to date. Two processes at once: the second waits for the first. @returns the names applied. */
export async function migrate(knex: Knex): Promise<readonly string[]> {
  await knex.raw('create schema if not exists rowpost');
  const [, applied] = (await knex.migrate.latest(CONFIG)) as [number, string[]];
  return applied;
}

/** Names of the migrations that this build brings and the database lacks; 'all' when it was never set up. */
export async function pendingMigrations(knex: Knex): Promise<readonly string[] | 'all'> {
  // Listing them would make the table, for which only a release has the rights.
  const { rows } = await knex.raw<{ rows: { present: boolean }[] }>(
    `select to_regclass('rowpost.migration') is not null as present`,
  );
  if (rows[0]?.present !== true) return 'all';
  const [, pending] = (await knex.migrate.list(CONFIG)) as [unknown, { file: string }[]];
  return pending.map((migration) => migration.file);
}
