// Whose login finds a role at a sign-in through an identity provider.

export async function up(knex) {
  await knex.raw(`
    -- The login as root or an admin gave it last. A role may change its own, and releases before this column leave it as it was, so
    -- it counts while both are the same.
    alter table rowpost.role add admin_login text;
    -- The case of ASCII doesn't matter. Beyond it, two addresses may be one login, but are not one person.
    create index role_admin_login on rowpost.role (tenantid, (lower(admin_login collate "C"))) where admin_login is not null;
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
