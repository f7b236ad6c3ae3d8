-- Sessions: what signs tokens, what ends sessions, and how often somebody tried to sign in.

create table rowpost.signing_key (
  kid text primary key,
  public_jwk jsonb not null,
  private_jwk_encrypted text not null,
  createtime timestamptz not null default now()
);

-- Every credential holds the state of its role, role.tokens_valid_from. These functions begin a new state, whoever makes
-- the change. It is later than that of any token that was issued, whatever the clocks say.
create function rowpost.end_sessions(roleids int[]) returns void
  language sql set search_path = pg_catalog, pg_temp
as $$
  update rowpost.role r
  set tokens_valid_from =
    greatest(clock_timestamp(), greatest(r.tokens_valid_from, r.createtime) + interval '1 millisecond')
  where r.roleid = any (roleids)
$$;
revoke all on function rowpost.end_sessions from public;

create function rowpost.begin_role_state() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  -- What lets a role sign in.
  signs_in constant text[] := array['login', 'admin'];
begin
  if new.password_hash is distinct from old.password_hash or new.deleted <> old.deleted
    or old.capabilities && signs_in and not new.capabilities && signs_in then
    new.tokens_valid_from :=
      greatest(clock_timestamp(), greatest(old.tokens_valid_from, old.createtime) + interval '1 millisecond');
  end if;
  if new.deleted <> old.deleted then
    new.restored := new.tokens_valid_from;
  end if;
  return new;
end $$;
revoke all on function rowpost.begin_role_state from public;
create trigger begin_role_state before update of password_hash, deleted, capabilities on rowpost.role
  for each row execute function rowpost.begin_role_state();

-- Sessions of the console that were ended by signing out.
create table rowpost.ended_session (
  -- SHA-256 of the session's refresh token
  token_hash bytea primary key,
  tenantid int not null references rowpost.tenant on delete cascade,
  -- when the token would have expired
  expires timestamptz not null
);
create index ended_session_expires on rowpost.ended_session (expires);
create index ended_session_tenant on rowpost.ended_session (tenantid);

-- How often an address and a login tried to sign in, counted for all web processes. Unlogged: a crash of PostgreSQL
-- forgets the counts, and nothing else is lost.
create unlogged table rowpost.sign_in_count (
  -- a hash: of one size, whatever was sent as a login
  key bytea primary key check (length(key) = 32),
  count int not null,
  expires timestamptz not null
) with (fillfactor = 70);
create index sign_in_count_expires on rowpost.sign_in_count (expires);
