// Who changed what, and keys of programs.

export async function up(knex) {
  await knex.raw(`
    -- Written in the transaction of the change.
    create table rowpost.audit_event (
      eventid uuid primary key default gen_random_uuid(),
      -- of the role that made the change
      tenantid int not null references rowpost.tenant on delete cascade,
      -- not when the transaction began: one may make many changes
      time timestamptz not null default clock_timestamp(),
      roleid int not null,
      -- its login then
      login text,
      -- the roles that acted as it
      actors int[] not null default '{}',
      object text not null,
      key text,
      operation text not null,
      -- the API key that it was made with, which may be gone
      keyid uuid,
      -- a list of {column, before, after}
      changes jsonb not null default '[]',
      foreign key (tenantid, roleid) references rowpost.role (tenantid, roleid) on delete cascade
    );
    create index audit_event_of_tenant on rowpost.audit_event (tenantid, time, eventid);
    create index audit_event_role on rowpost.audit_event (tenantid, roleid, time, eventid);
    create index audit_event_object on rowpost.audit_event (tenantid, object, key);
    create index audit_event_time on rowpost.audit_event (time);

    -- Keys by which programs act as a role.
    create table rowpost.api_key (
      keyid uuid primary key default gen_random_uuid(),
      tenantid int not null,
      roleid int not null,
      name text not null,
      -- SHA-256 of the key, which is nowhere
      key_hash bytea not null check (length(key_hash) = 32),
      -- parts of it, by which people recognize it
      hint text not null,
      -- null: all that the role may do
      capabilities text[],
      -- role.tokens_valid_from, in milliseconds: it ends with that state of the role
      state_ms float8 not null,
      expires timestamptz,
      last_used timestamptz,
      creatorid int,
      createtime timestamptz not null default now(),
      unique (roleid, name),
      foreign key (tenantid, roleid) references rowpost.role (tenantid, roleid) on delete cascade
    );
    create index api_key_role on rowpost.api_key (tenantid, roleid);
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
