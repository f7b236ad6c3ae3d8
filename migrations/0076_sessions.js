// What ends sessions. Every credential holds the state of its role, role.tokens_valid_from; these triggers begin a new
// state, whoever makes the change. And logins that differ only in case or form are one login.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.role
      -- when the role was last deleted or restored
      add column restored timestamptz not null default '-infinity',
      -- one like it existed before that was refused
      add column login_shared boolean not null default false;

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
        -- Later than that of any token that was issued, whatever the clocks say.
        new.tokens_valid_from :=
          greatest(clock_timestamp(), greatest(old.tokens_valid_from, old.createtime) + interval '1 millisecond');
      end if;
      if new.deleted <> old.deleted then
        new.restored := new.tokens_valid_from;
      end if;
      if new.login is distinct from old.login then
        new.login_shared := false;
      end if;
      return new;
    end $$;
    revoke all on function rowpost.begin_role_state from public;
    create trigger begin_role_state before update of login, password_hash, deleted, capabilities on rowpost.role
      for each row execute function rowpost.begin_role_state();

    -- Whoever knew the old password may have mapped an identity of their own.
    create function rowpost.forget_own_identities() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      delete from rowpost.role_oidc m where m.tenantid = new.tenantid and m.roleid = new.roleid and m.creatorid = new.roleid;
      return null;
    end $$;
    revoke all on function rowpost.forget_own_identities from public;
    create trigger forget_own_identities after update of password_hash on rowpost.role
      for each row when (new.password_hash is distinct from old.password_hash)
      execute function rowpost.forget_own_identities();

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

    alter table rowpost.oidc_sign_in
      -- that of the role when the sign-in began, in milliseconds; 0 if the release before began it
      add column tokens_valid_from_ms float8 not null default 0;
  `);

  // With the C locale of a database, lower() knows ASCII only.
  const { rows } = await knex.raw("select from pg_collation where collname = 'pg_c_utf8'");
  const collation = rows.length > 0 ? 'collate pg_catalog.pg_c_utf8' : '';
  const folded = `lower(normalize(login, nfkc) ${collation})`;
  await knex.raw(`
    update rowpost.role r set login_shared = true
    where not deleted and exists (
      select from rowpost.role o
      where o.tenantid = r.tenantid and not o.deleted and o.roleid < r.roleid
        and ${folded.replace('login', 'o.login')} = ${folded.replace('login', 'r.login')});
    drop index rowpost.role_login_folded;
    create unique index role_login_folded on rowpost.role (tenantid, (${folded}))
      where not deleted and not login_shared;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
