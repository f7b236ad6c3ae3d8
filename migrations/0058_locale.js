// A template for the language of an email type's mail, which picks its variants.

export async function up(knex) {
  await knex.raw('alter table rowpost.email_types add column locale text');
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
