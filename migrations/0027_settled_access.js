// What was decided about a tenant's schema, for processes that meet it later: looking through it again costs them more
// than everything else that they read of it.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.tenant_access add column fingerprint text, add column has_code boolean;
    comment on column rowpost.tenant_access.fingerprint is
      'of the schema that was last judged, when there was nothing left to grant or to refuse';
    comment on column rowpost.tenant_access.has_code is 'whether that schema held code of its own';
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
