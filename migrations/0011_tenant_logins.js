// The second wall becomes who is connected, not what a session says: role names carry the database, a tenant is known by
// its login as well as by the role entered, refusals raise by themselves, and locks are tables, which nobody
// but the service may lock (advisory locks are anybody's).

export async function up(knex) {
  await knex.raw(`
    -- Locked by whoever changes the tenant's schema, or decides by it which connections serve the tenant.
    create table rowpost.tenant_access (
      tenantid int primary key references rowpost.tenant on delete cascade
    );
    insert into rowpost.tenant_access select tenantid from rowpost.tenant where schema is not null;

    -- Locked by LOCK TABLE, which needs no transaction id.
    create table rowpost.relay_lock ();
    create table rowpost.maintenance_lock ();
    create table rowpost.provisioning_lock ();

    -- An exception that is caught is not logged: relays ask several times a second.
    create function rowpost.try_relay_lock() returns boolean
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      lock table rowpost.relay_lock in share update exclusive mode nowait;
      return true;
    exception when lock_not_available then
      return false;
    end $$;

    -- The tenant whose role this is; null for any other. Releases before this one named the role tenant_<id>.
    create function rowpost_tenant.tenantid_of(role name) returns int
      language sql immutable parallel safe
      return case when role ~ '^(rowpost_[0-9]+_|)tenant_[0-9]+$' then split_part(role::text, 'tenant_', 2)::int end;

    -- The tenant of this session: its login, or the role that a shared connection has entered. A tenant's login can
    -- enter no other role, whatever its code sets.
    create function rowpost_tenant.tenantid() returns int
      language sql stable parallel safe
      return rowpost_tenant.tenantid_of(coalesce(nullif(current_setting('role'), 'none')::name, session_user));

    alter table rowpost.outbox alter column tenantid set default
      rowpost_tenant.tenantid_of(coalesce(nullif(current_setting('role'), 'none')::name, session_user));

    -- Fails the statement, and with it the transaction whose commit is already on its way.
    create function rowpost_tenant.refuse(reason text, columns text default '') returns text
      language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp
    as $$
    begin
      raise exception using errcode = 'RP001', message = reason, column = columns;
    end $$;

    -- Before a shared connection serves another tenant. Prepared statements stay: only the service makes them there.
    create function rowpost_tenant.clean_session() returns void
      language plpgsql
    as $$
    begin
      reset all;
      execute 'close all';
      unlisten *;
      discard temp;
      discard sequences;
      perform pg_catalog.pg_advisory_unlock_all();
    end $$;

    create or replace function rowpost_tenant.capture_change(
      roleid int, operation text, target text, key json, old json, new json
    ) returns bigint
      language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
    declare
      event bigint;
    begin
      insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new)
        values (rowpost_tenant.tenantid(), roleid, operation, target, key, old, new)
        returning eventid into event;
      return event;
    end $$;
  `);

  // The functions of files, as they are, with the tenant taken from the one function above.
  const { rows } = await knex.raw(`
    select pg_get_functiondef(p.oid) as definition from pg_proc p
    where p.pronamespace = 'rowpost_tenant'::regnamespace
      and p.prosrc like '%substr(current_setting(''role''), 8)::int%'`);
  for (const { definition } of rows) {
    await knex.raw(
      definition
        .replaceAll("substr(current_setting('role'), 8)::int", 'rowpost_tenant.tenantid()')
        .replaceAll('?', '\\?'),
    );
  }

  // To everyone who may use the schema, which are the tenants' roles, and the shared login.
  await knex.raw(`
    grant execute on function rowpost_tenant.tenantid_of, rowpost_tenant.tenantid, rowpost_tenant.refuse,
      rowpost_tenant.clean_session to public;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
