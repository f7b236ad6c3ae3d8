// The schema, as the SQL files of schema/ in the order of their names.
import { readFileSync, readdirSync } from 'node:fs';

const FOLDER = new URL('schema/', import.meta.url);

export async function up(knex) {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.sql'));
  for (const name of names.sort()) {
    const sql = readFileSync(new URL(name, FOLDER), 'utf8');
    // Only knex would take a question mark for a parameter.
    // eslint-disable-next-line rowpost/static-sql -- the files are constants
    await knex.raw(sql.replaceAll('?', '\\?'));
  }
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
