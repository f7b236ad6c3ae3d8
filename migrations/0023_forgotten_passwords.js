// Links by email for people who have forgotten their password.

export async function up(knex) {
  await knex.raw(`
    -- Where such emails come from. A tenant without a row sends none.
    create table rowpost.password_sender (
      tenantid int primary key references rowpost.tenant on delete cascade,
      sender text not null
    );

    -- Several at a time for a role, so that nobody ends somebody else's link by asking for another.
    create table rowpost.password_reset (
      -- SHA-256 of what is secret in the link, which is nowhere
      link_hash bytea primary key check (length(link_hash) = 32),
      tenantid int not null,
      roleid int not null,
      -- role.tokens_valid_from, in milliseconds: it ends with that state of the role
      state_ms float8 not null,
      expires timestamptz not null,
      foreign key (tenantid, roleid) references rowpost.role (tenantid, roleid) on delete cascade
    );
    create index password_reset_role on rowpost.password_reset (tenantid, roleid);
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
