// A maximum age of sign-ins through an identity provider, trials of them, sign-in events by time, and identities by an address
// in any case.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.oidc_config
      -- in seconds, since the person signed in at the identity provider
      add column max_session_age int check (max_session_age between 300 and 31536000),
      add column prompt text check (prompt in ('login', 'select_account', 'consent'));
    alter table rowpost.session
      -- when the person signed in at the identity provider; null: since
      add column authenticated timestamptz,
      -- by the age
      add column ends timestamptz;
    -- A trial, which signs nobody in: the session of the console that began it, and alone may end it.
    alter table rowpost.oidc_sign_in add column trial_sessionid uuid;
    -- Read with each role.
    create index session_ends on rowpost.session (roleid, ends) where ends is not null and not is_console;

    -- The newest of a tenant.
    create index sign_in_event_time on rowpost.sign_in_event (tenantid, time, eventid);

    -- The case of ASCII doesn't matter.
    create index role_oidc_address on rowpost.role_oidc (confid, (lower(sub_id collate "C")));
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
