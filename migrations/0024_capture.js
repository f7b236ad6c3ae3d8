// Capture of every writer: triggers on a tenant's tables write the outbox events in the writer's own transaction. The API
// looks for the triggers in each of its statements, and leaves its own event out where they fire.

export async function up(knex) {
  await knex.raw(
    `
    -- Who changed the row where it was not the API: roleid is null then.
    alter table rowpost.outbox alter column roleid drop not null;
    alter table rowpost.outbox add column writer text, add column application text;

    -- The tables of which every change is captured. A row outlives its table, which may be made again.
    create table rowpost.captured_table (
      tenantid int not null references rowpost.tenant on delete cascade,
      table_name text not null,
      primary key (tenantid, table_name)
    );

    -- A row as the API records it. A function of its own, because a type may bring a cast to json, which is code of
    -- whoever owns the type: it is given to a role without rights before it is used.
    create function rowpost.row_json(captured record) returns json
      language plpgsql stable security definer set search_path = pg_catalog, pg_temp
    as $$
    begin
      return row_to_json(captured);
    exception when others then
      -- A broken cast is no reason to refuse the writer's row.
      return json_build_object('capture_error', sqlerrm);
    end $$;
    revoke all on function rowpost.row_json from public;

    -- As json_build_object writes it, which the API uses; empty where it is longer than the outbox takes.
    create function rowpost.event_key(captured json, columns text[]) returns json
      language plpgsql immutable set search_path = pg_catalog, pg_temp
    as $$
    declare
      key text := (select '{' || string_agg(to_json(c)::text || ' : ' || coalesce((captured -> c)::text, 'null'), ', ' order by n)
        || '}' from unnest(columns) with ordinality u(c, n));
    begin
      return case when octet_length(key) <= 1048576 then key else '{}' end;
    end $$;
    revoke all on function rowpost.event_key from public;

    -- Runs once a statement, as the service. Nobody else may attach it: without transition tables its statements would find
    -- whatever relations of those names the writer's session has. Arguments: version, name of the table, its name in
    -- GraphQL, columns of its key. The service replaces triggers whose arguments are no longer right.
    create function rowpost.capture_rows() returns trigger
      language plpgsql security definer
      set search_path = pg_catalog, pg_temp
      -- As in the API's sessions, so that values become the same text.
      set timezone = 'UTC' set datestyle = 'ISO' set intervalstyle = 'iso_8601' set extra_float_digits = 1
      set bytea_output = 'hex'
      -- Maintenance of the outbox holds locks for moments; a writer's own timeout may be shorter.
      set lock_timeout = 0
    as $$
    #variable_conflict use_variable
    declare
      root oid := pg_partition_root(tg_relid);
      root_schema name := tg_table_schema;
      root_name name := tg_table_name;
      event_tenant int;
      event_target text;
      key_columns text[] := tg_argv[3:];
      key_column text := case when tg_nargs = 4 then tg_argv[3] end;
      -- Whether the columns' types are all PostgreSQL's own, which have no casts of somebody's.
      is_plain boolean;
      keys_found int;
      is_guarded boolean := true;
      event_role int;
      event_writer text;
      event_application text;
    begin
      if root <> tg_relid then
        select n.nspname, c.relname into root_schema, root_name
        from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = root;
      end if;
      -- Columns can't change while we write.
      select (select t.tenantid from rowpost.tenant t where t.schema = root_schema::text), a.is_plain, a.keys
        into event_tenant, is_plain, keys_found
        from (select bool_and(c.atttypid < 16384) as is_plain, count(*) filter (where c.attname = any (key_columns)) as keys
          from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and not c.attisdropped) a;
      -- The tenant is gone.
      if event_tenant is null then return null; end if;
      if keys_found < tg_nargs - 3 then
        -- Renamed since the service looked at the table.
        key_columns := array(select c.attname::text
          from pg_index i, unnest(i.indkey::int2[]) with ordinality k(attnum, position), pg_attribute c
          where i.indrelid = tg_relid and i.indisprimary and c.attrelid = tg_relid and c.attnum = k.attnum
          order by k.position);
        key_column := null;
      end if;
      event_target := case when root_name = tg_argv[1] then tg_argv[2] else root_name end;

      if rowpost_tenant.tenantid() = event_tenant then
        -- Said by the API in its own statement. A tenant's code can't say more than in an event that it writes by itself.
        if current_setting('rowpost.uploading', true) = 'on' then return null; end if;
        event_role := nullif(current_setting('rowpost.roleid', true), '')::int;
      end if;
      if event_role is null then
        event_writer := session_user;
        event_application := current_setting('application_name');
      end if;
      if not is_plain then
        -- False after a dump was restored, until the service looks at its tables: casts would run as the service.
        is_guarded := not exists (select from pg_proc p
          where p.oid = 'rowpost.row_json(record)'::regprocedure and p.proowner = current_user::regrole);
      end if;

      if tg_op = 'INSERT' then
        :insert
        from (select :json(new_rows) as after from new_rows offset 0) e;
      elsif tg_op = 'DELETE' then
        :delete
        from (select :json(old_rows) as before from old_rows offset 0) e;
      elsif tg_op = 'TRUNCATE' then
        insert into rowpost.outbox (tenantid, roleid, operation, target, key, writer, application)
        values (event_tenant, event_role, 'truncate', event_target, '{}', event_writer, event_application);
      elsif root is null or (select count(*) from old_rows) = (select count(*) from new_rows) then
        -- PostgreSQL adds to both tables at once, row by row.
        :update
        from (select row_number() over () as n, :json(old_rows) as before from old_rows offset 0) a
          join (select row_number() over () as n, :json(new_rows) as after from new_rows offset 0) b using (n);
      else
        -- A trigger stopped a row on its way to another partition: it has been deleted.
        insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
        select event_tenant, event_role, case when a.key is null then 'insert' when b.key is null then 'delete' else 'update' end,
          event_target, coalesce(b.key, a.key)::json, a.before, b.after, event_writer, event_application
        from (select before, rowpost.event_key(before, key_columns)::text as key
            from (select :json(old_rows) as before from old_rows offset 0) o offset 0) a
          full join (select after, rowpost.event_key(after, key_columns)::text as key
            from (select :json(new_rows) as after from new_rows offset 0) n offset 0) b on a.key = b.key;
      end if;
      return null;
    end $$;
    revoke all on function rowpost.capture_rows from public;
  `
      .replaceAll(':insert', eventOf('insert', 'after', ['null', 'after']))
      .replaceAll(':delete', eventOf('delete', 'before', ['before', 'null']))
      .replaceAll(':update', eventOf('update', 'after', ['before', 'after']))
      .replaceAll(
        /:json\((\w+)\)/g,
        `case when is_plain then row_to_json($1.*) when is_guarded then rowpost.row_json($1.*)
          else json_build_object('capture_error', 'Run "rowpost release".') end`,
      ),
  );

  // The files of a row go with it as before; its event is the trigger's to write where there is one.
  await knex.raw(`
    create or replace function rowpost_tenant.capture_file_row_change(
      roleid int, operation text, target text, key json, old json, new json, table_name text, old_key jsonb
    ) returns bigint
      language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
    begin
      if operation = 'delete' then
        perform rowpost_tenant.drop_files(table_name, old_key, null, null);
      elsif operation = 'insert' then
        perform rowpost_tenant.drop_files(table_name, key::jsonb, null, null);
      elsif old_key is not null and old_key::text <> key::jsonb::text then
        update rowpost.file f set key = capture_file_row_change.key::jsonb
        where f.tenantid = rowpost_tenant.tenantid() and f.target = table_name
          and md5(f.key::text) = md5(old_key::text) and f.key = old_key;
      end if;
      if exists (select from rowpost.tenant t join pg_class c on c.relname = table_name::name
          join pg_namespace n on n.oid = c.relnamespace and n.nspname = t.schema::name
          join pg_trigger g on g.tgrelid = c.oid and g.tgname = 'rowpost_capture_' || operation and g.tgenabled in ('O', 'A')
          where t.tenantid = rowpost_tenant.tenantid()) then
        perform set_config('rowpost.roleid', roleid::text, true);
        return 1;
      end if;
      return rowpost_tenant.capture_change(roleid, operation, target, key, old, new);
    end $$;
  `);
}

function eventOf(operation, row, [before, after]) {
  const key = `case when key_column is not null and octet_length(${row}::text) < 1000000
    then json_build_object(key_column, ${row} -> key_column) else rowpost.event_key(${row}, key_columns) end`;
  return `insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
    select event_tenant, event_role, '${operation}', event_target, ${key}, ${before}, ${after}, event_writer, event_application`;
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
