import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Knex } from 'knex';

// The same place relative to src/db and to dist/db.
const MIGRATIONS_DIR = fileURLToPath(new URL('../../migrations', import.meta.url));

/** The files of migrations/, by name. knex asks for a way back from each; ours only go forward. */
const FORWARD_ONLY: Knex.MigrationSource<string> = {
  async getMigrations() {
    return (await readdir(MIGRATIONS_DIR)).filter((file) => file.endsWith('.js')).sort();
  },
  getMigrationName: (file) => file,
  async getMigration(file) {
    const { up } = (await import(pathToFileURL(join(MIGRATIONS_DIR, file)).href)) as Pick<
      Knex.Migration,
      'up'
    >;
    return { up, down: () => Promise.reject(new Error('migrations go forward only')) };
  },
};

const CONFIG = { migrationSource: FORWARD_ONLY, schemaName: 'rowpost', tableName: 'migration' };

/** Brings the control schema up to date. Two processes at once: the second waits for the first. @returns the names applied. */
export async function migrate(knex: Knex): Promise<readonly string[]> {
  await knex.raw('create schema if not exists rowpost');
  const [, applied] = (await knex.migrate.latest(CONFIG)) as [number, string[]];
  return applied;
}

/** Names of the migrations that this build brings and the database lacks. */
export async function pendingMigrations(knex: Knex): Promise<readonly string[]> {
  const [, pending] = (await knex.migrate.list(CONFIG)) as [unknown, string[]];
  return pending;
}
