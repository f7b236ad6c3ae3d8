// What is known of a delivery after it was sent, and whom it was meant for.
import { readFileSync } from 'node:fs';

export async function up(knex) {
  const sql = readFileSync(new URL('0012_delivery_status.sql', import.meta.url), 'utf8');
  // eslint-disable-next-line rowpost/static-sql -- the file is a constant
  await knex.raw(sql);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
