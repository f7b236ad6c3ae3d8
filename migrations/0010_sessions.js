// Where a role is signed in: each sign-in is a session, to which its tokens belong.
export async function up(knex) {
  await knex.raw(`
    create table rowpost.session (
      sessionid uuid primary key default gen_random_uuid(),
      tenantid int not null,
      roleid int not null,
      -- of the console, which gives no tokens away
      is_console boolean not null default false,
      -- null: with a password
      confid int,
      since timestamptz not null default now(),
      last_used timestamptz not null default now(),
      browser text not null,
      address text not null,
      -- role.tokens_valid_from of the sign-in, in milliseconds: it ends with that state of the role
      state_ms float8 not null,
      -- when the last token of the session does
      expires timestamptz not null,
      ended timestamptz,
      foreign key (tenantid, roleid) references rowpost.role (tenantid, roleid) on delete cascade,
      foreign key (tenantid, confid) references rowpost.oidc_config (tenantid, confid) on delete set null (confid)
    );
    create index session_role on rowpost.session (tenantid, roleid);
    create index session_config on rowpost.session (confid) where confid is not null;
    create index session_expires on rowpost.session (expires);
    -- Read with each role.
    create index session_ended on rowpost.session (roleid) where ended is not null and not is_console;
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
