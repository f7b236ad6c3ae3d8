// What a provider's ID tokens are held against: the issuer of its discovery document, and whether an email address counts
// as verified without the claim that says so.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.oidc_providers
      -- for providers that never send email_verified
      add column email_always_verified boolean not null default false,
      -- where no issuer is given: the one of the discovery document, found at the first sign-in after a change of the
      -- provider's addresses. null: not found, so any issuer on the host of auth_uri
      add column discovered_issuer text;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
