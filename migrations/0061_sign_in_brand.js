// What a tenant's sign-in page shows of its own.

export async function up(knex) {
  await knex.raw(`
    create table rowpost.sign_in_brand (
      tenantid int primary key references rowpost.tenant on delete cascade,
      name text,
      color text,
      -- a data URI
      logo text
    )
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
