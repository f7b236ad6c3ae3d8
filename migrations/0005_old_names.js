// Triggers of the service run no function that a renamed column or a domain names.
import { readFileSync } from 'node:fs';

export async function up(knex) {
  const sql = readFileSync(new URL('0005_old_names.sql', import.meta.url), 'utf8');
  // Only knex would take a question mark for a parameter.
  // eslint-disable-next-line rowpost/static-sql -- the file is a constant
  await knex.raw(sql.replaceAll('?', '\\?'));
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
