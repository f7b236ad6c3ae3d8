// Keys that clients of identity providers authenticate with, and limits of what is read of claims.

export async function up(knex) {
  await knex.raw(`
    -- A configuration that has any authenticates with one of them instead of its secret.
    create table rowpost.oidc_key (
      kid text primary key,
      tenantid int not null,
      confid int not null,
      public_jwk jsonb not null,
      private_jwk_encrypted text not null,
      -- below BASE_URL; a proxy in front of several cells reads the tenant from it
      jwks_uri text not null check (jwks_uri = '/oidc/' || confid || '/jwks\\?tenantid=' || tenantid),
      creatorid int,
      createtime timestamptz not null default now(),
      foreign key (tenantid, confid) references rowpost.oidc_config (tenantid, confid) on delete cascade
    );
    create index oidc_key_config on rowpost.oidc_key (tenantid, confid);

    -- It takes time with the length of their paths.
    alter table rowpost.oidc_provisioning
      add check (length(groups_claim) <= 200),
      add check (length(required_claim) <= 200);
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
