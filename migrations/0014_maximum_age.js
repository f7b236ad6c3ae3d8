// Identities that are found by an address in any case.

export async function up(knex) {
  await knex.raw(`
    -- The case of ASCII doesn't matter.
    create index role_oidc_address on rowpost.role_oidc (confid, (lower(sub_id collate "C")));
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
