// When an account whose carrier limits calls may be called next.

export async function up(knex) {
  await knex.raw(`alter table rowpost.email_pace add column next_call timestamptz`);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
