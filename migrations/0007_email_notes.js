// Notes of the authors of an email type, which are not part of the email.
export async function up(knex) {
  await knex.raw(`alter table rowpost.email_types add column notes text`);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
