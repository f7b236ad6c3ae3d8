// What is read of claims takes time with the length of their paths.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.oidc_provisioning
      add check (length(groups_claim) <= 200),
      add check (length(required_claim) <= 200);
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
