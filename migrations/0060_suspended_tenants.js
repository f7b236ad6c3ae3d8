// Blocks all access to a tenant, while it is being moved or investigated. Its mail is still sent.

export async function up(knex) {
  await knex.raw('alter table rowpost.tenant add column suspended boolean not null default false');
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
