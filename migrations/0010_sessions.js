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
      -- SHA-256 of sid and sub of the ID token, by which the identity provider ends it, and its iat
      provider_sid bytea,
      provider_sub bytea,
      id_token_issued timestamptz,
      -- The ID token, for a provider that can sign out.
      id_token_encrypted text,
      foreign key (tenantid, roleid) references rowpost.role (tenantid, roleid) on delete cascade,
      foreign key (tenantid, confid) references rowpost.oidc_config (tenantid, confid) on delete set null (confid)
    );
    create index session_role on rowpost.session (tenantid, roleid);
    create index session_sid on rowpost.session (confid, provider_sid) where confid is not null;
    create index session_sub on rowpost.session (confid, provider_sub) where confid is not null;
    create index session_expires on rowpost.session (expires);
    -- Read with each role.
    create index session_ended on rowpost.session (roleid) where ended is not null and not is_console;

    alter table rowpost.oidc_providers
      add column end_session_uri text,
      -- Empty if the discovery document names none; null while that is not known.
      add column discovered_end_session_uri text;
    -- A logout token names its client, not the tenant.
    create index oidc_config_client on rowpost.oidc_config using hash (client_id);
    -- Logout tokens that came: each counts once, and for sign-ins that are completed after it.
    create table rowpost.oidc_logout (
      confid int not null references rowpost.oidc_config on delete cascade,
      jti_hash bytea not null,
      sid_hash bytea,
      sub_hash bytea,
      issued timestamptz not null,
      -- whether the sessions were ended
      done boolean not null default false,
      expires timestamptz not null,
      primary key (confid, jti_hash)
    );
    create index oidc_logout_expires on rowpost.oidc_logout (expires);

    -- Who signed in, was refused, or signed out.
    create table rowpost.sign_in_event (
      eventid uuid primary key default gen_random_uuid(),
      tenantid int not null references rowpost.tenant on delete cascade,
      -- the hour or minute of the events that are one row
      slot timestamptz not null,
      time timestamptz not null default now(),
      last_time timestamptz not null default now(),
      count int not null default 1,
      kind text not null,
      roleid int,
      confid int,
      -- its name then
      provider text,
      reason text,
      address text,
      actorid int,
      unique nulls not distinct (tenantid, slot, kind, roleid, confid, reason, address, actorid),
      foreign key (tenantid, roleid) references rowpost.role (tenantid, roleid) on delete cascade
    );
    create index sign_in_event_slot on rowpost.sign_in_event (slot);
    create index sign_in_event_role on rowpost.sign_in_event (tenantid, roleid);
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
