-- Capture of every writer: triggers on a tenant's tables write the outbox events in the writer's own transaction. A mutation
-- leaves its own event out where they fire.

-- The tables of which every change is captured. A row outlives its table, which may be created again.
create table rowpost.captured_table (
  tenantid int not null references rowpost.tenant on delete cascade,
  table_name text not null,
  primary key (tenantid, table_name)
);

-- A row as the API records it. A function of its own, because a type may bring a cast to json, which is code of
-- whoever owns the type: it is given to a role without rights before it is used. The cast runs as the role that owns this
-- function, and an owner may drop what it owns, or change its own role. So what converts rows only reads.
create function rowpost.row_json(captured record) returns json
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- Within this block, which is a transaction of its own, nothing can undo that.
  perform set_config('transaction_read_only', 'on', true);
  -- Temporary tables may be written to nevertheless. A trigger there that is deferred runs at the end of the transaction, which
  -- is no longer read-only, and since PostgreSQL 18 as the role that it was queued by.
  if pg_my_temp_schema() <> 0 and exists (select from pg_trigger g join pg_class c on c.oid = g.tgrelid
      where c.relnamespace = pg_my_temp_schema() and g.tgdeferrable) then
    raise exception 'the session has a temporary table with a deferrable constraint or trigger';
  end if;
  return row_to_json(captured);
exception when others then
  -- A broken cast is no reason to refuse the writer's row.
  return json_build_object('capture_error', sqlerrm);
end $$;
revoke all on function rowpost.row_json from public;

-- False after a dump was restored, until the service looks at its tables: casts would run as the service.
create function rowpost.is_row_json_guarded() returns boolean
  language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  return not exists (select from pg_proc p
    where p.oid = 'rowpost.row_json(record)'::regprocedure and p.proowner = current_user::regrole);
end $$;
revoke all on function rowpost.is_row_json_guarded from public;

-- As json_build_object writes it, which the API uses; empty where it is longer than the outbox takes. A column can't be
-- looked up in JSON that holds \u0000, so that is replaced; with a backslash before it, it would be the text \u0000, which a
-- key may contain.
create function rowpost.event_key(captured json, columns text[]) returns json
  language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  key text := (select '{' || string_agg(to_json(c)::text || ' : ' || coalesce((
        (case when strpos(captured::text, '\u0000') = 0 then captured
          else regexp_replace(captured::text, '(?<!\\)((\\\\)*)\\u0000', '\1\\ufffd', 'g')::json end) -> c
      )::text, 'null'), ', ' order by n)
    || '}' from unnest(columns) with ordinality u(c, n));
begin
  return case when octet_length(key) <= 1048576 then key else '{}' end;
end $$;
revoke all on function rowpost.event_key from public;

-- Those that the trigger was created with, or, if one has been renamed after that, those of the primary key.
create function rowpost.key_columns(relation oid, columns text[]) returns text[]
  language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  if (select count(*) from pg_attribute c where c.attrelid = relation and c.attname = any (columns) and c.attnum > 0)
      = cardinality(columns) then
    return columns;
  end if;
  return array(select c.attname::text
    from pg_index i, unnest(i.indkey::int2[]) with ordinality k(attnum, position), pg_attribute c
    where i.indrelid = relation and i.indisprimary and c.attrelid = relation and c.attnum = k.attnum
    order by k.position);
end $$;
revoke all on function rowpost.key_columns from public;

-- Runs once a statement, as the service. Nobody else may attach it: without transition tables its statements would find
-- whatever relations of those names the writer's session has. Arguments: tenant, name of the table, its name in GraphQL,
-- columns of its key. The service replaces triggers whose arguments are no longer right. Until then a table that its owner has
-- moved to the schema of another tenant writes no events.
--
-- To start a statement, or to evaluate an expression of plpgsql, is what a single row pays for, so the usual case is one
-- statement that checks and inserts. Columns can't change while we write. The types of PostgreSQL itself, whose numbers are
-- below 16384, have no casts of somebody's; that a row has no others is no condition of the statement, which may be evaluated
-- later than the conversion.
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
  -- The table of a partition; null for others.
  root_schema name;
  root_name name;
  event_role int;
  -- Said by the API in its own statement; true only of a table of the tenant that says it.
  said_role text := nullif(current_setting('rowpost.roleid', true), '');
  own_tenant int;
begin
  -- The usual case: no upload, a table that is no partition and has its name, one column as its key, types of
  -- PostgreSQL. It inserts nothing in any other.
  if said_role is not null then own_tenant := rowpost_tenant.tenantid(); end if;
  if coalesce(current_setting('rowpost.uploading', true), '') = ''
    and tg_nargs = 4 and tg_table_name = tg_argv[1] and pg_partition_root(tg_relid) is null then
    if tg_op = 'INSERT' then
      insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
      select e.tenantid, case when e.tenantid = own_tenant then said_role::int end, 'insert', tg_argv[2],
        case when octet_length(e.key::text) < 1048000
          then ('{' || to_json(tg_argv[3])::text || ' : ' || e.key::text || '}')::json else '{}' end,
        null, e.after,
        case when e.tenantid = own_tenant then null else session_user end,
        case when e.tenantid = own_tenant then null else current_setting('application_name') end
      from (
        select after,
          (case when strpos(after::text, '\u0000') = 0 then after
            else regexp_replace(after::text, '(?<!\\)((\\\\)*)\\u0000', '\1\\ufffd', 'g')::json end) -> tg_argv[3] as key,
          (select t.tenantid from rowpost.tenant t where t.schema = tg_table_schema::text and t.tenantid = tg_argv[0]::int) as tenantid
        from (
          select case when not exists (
            select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384
          ) then row_to_json(new_rows.*) end as after from new_rows offset 0
        ) n offset 0
      ) e
      where e.tenantid is not null and e.key is not null;
    elsif tg_op = 'UPDATE' then
      insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
      select e.tenantid, case when e.tenantid = own_tenant then said_role::int end, 'update', tg_argv[2],
        case when octet_length(e.key::text) < 1048000
          then ('{' || to_json(tg_argv[3])::text || ' : ' || e.key::text || '}')::json else '{}' end,
        e.before, e.after,
        case when e.tenantid = own_tenant then null else session_user end,
        case when e.tenantid = own_tenant then null else current_setting('application_name') end
      from (
        select a.before, b.after,
          (case when strpos(b.after::text, '\u0000') = 0 then b.after
            else regexp_replace(b.after::text, '(?<!\\)((\\\\)*)\\u0000', '\1\\ufffd', 'g')::json end) -> tg_argv[3] as key,
          (select t.tenantid from rowpost.tenant t where t.schema = tg_table_schema::text and t.tenantid = tg_argv[0]::int) as tenantid
        from (
          select row_number() over () as n, case when not exists (
            select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384
          ) then row_to_json(old_rows.*) end as before from old_rows offset 0
        ) a join (
          select row_number() over () as n, case when not exists (
            select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384
          ) then row_to_json(new_rows.*) end as after from new_rows offset 0
        ) b using (n) offset 0
      ) e
      where e.tenantid is not null and e.key is not null;
    elsif tg_op = 'DELETE' then
      insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
      select e.tenantid, case when e.tenantid = own_tenant then said_role::int end, 'delete', tg_argv[2],
        case when octet_length(e.key::text) < 1048000
          then ('{' || to_json(tg_argv[3])::text || ' : ' || e.key::text || '}')::json else '{}' end,
        e.before, null,
        case when e.tenantid = own_tenant then null else session_user end,
        case when e.tenantid = own_tenant then null else current_setting('application_name') end
      from (
        select before,
          (case when strpos(before::text, '\u0000') = 0 then before
            else regexp_replace(before::text, '(?<!\\)((\\\\)*)\\u0000', '\1\\ufffd', 'g')::json end) -> tg_argv[3] as key,
          (select t.tenantid from rowpost.tenant t where t.schema = tg_table_schema::text and t.tenantid = tg_argv[0]::int) as tenantid
        from (
          select case when not exists (
            select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384
          ) then row_to_json(old_rows.*) end as before from old_rows offset 0
        ) o offset 0
      ) e
      where e.tenantid is not null and e.key is not null;
    end if;
    if found then return null; end if;
  end if;

  if pg_partition_root(tg_relid) <> tg_relid then
    select n.nspname, c.relname into root_schema, root_name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = pg_partition_root(tg_relid);
  end if;
  -- A tenant's code can't say more than in an event that it writes by itself. There is no tenant once it is deleted.
  if concat(current_setting('rowpost.roleid', true), current_setting('rowpost.uploading', true)) <> '' then
    if rowpost_tenant.tenantid() = (
      select t.tenantid from rowpost.tenant t where t.schema = coalesce(root_schema, tg_table_schema)::text and t.tenantid = tg_argv[0]::int
    ) then
      if current_setting('rowpost.uploading', true) = 'on' then return null; end if;
      event_role := nullif(current_setting('rowpost.roleid', true), '')::int;
    end if;
  end if;

  if tg_op = 'INSERT' then
    insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
    select e.tenantid, event_role, 'insert',
      case when coalesce(root_name, tg_table_name) = tg_argv[1] then tg_argv[2]
        else coalesce(root_name, tg_table_name)::text end,
      rowpost.event_key(e.after, (select rowpost.key_columns(tg_relid, tg_argv[3:]))),
      null, e.after,
      case when event_role is null then session_user end,
      case when event_role is null then current_setting('application_name') end
    from (
      select case
        when not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384)
          then row_to_json(new_rows.*)
        when (select rowpost.is_row_json_guarded()) then rowpost.row_json(new_rows.*)
        else json_build_object('capture_error', 'Run "rowpost release".')
      end as after,
        (select t.tenantid from rowpost.tenant t where t.schema = coalesce(root_schema, tg_table_schema)::text and t.tenantid = tg_argv[0]::int) as tenantid
      from new_rows offset 0
    ) e
    where e.tenantid is not null;
  elsif tg_op = 'DELETE' then
    insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
    select e.tenantid, event_role, 'delete',
      case when coalesce(root_name, tg_table_name) = tg_argv[1] then tg_argv[2]
        else coalesce(root_name, tg_table_name)::text end,
      rowpost.event_key(e.before, (select rowpost.key_columns(tg_relid, tg_argv[3:]))),
      e.before, null,
      case when event_role is null then session_user end,
      case when event_role is null then current_setting('application_name') end
    from (
      select case
        when not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384)
          then row_to_json(old_rows.*)
        when (select rowpost.is_row_json_guarded()) then rowpost.row_json(old_rows.*)
        else json_build_object('capture_error', 'Run "rowpost release".')
      end as before,
        (select t.tenantid from rowpost.tenant t where t.schema = coalesce(root_schema, tg_table_schema)::text and t.tenantid = tg_argv[0]::int) as tenantid
      from old_rows offset 0
    ) e
    where e.tenantid is not null;
  elsif tg_op = 'TRUNCATE' then
    insert into rowpost.outbox (tenantid, roleid, operation, target, key, writer, application)
    select e.tenantid, event_role, 'truncate',
      case when coalesce(root_name, tg_table_name) = tg_argv[1] then tg_argv[2]
        else coalesce(root_name, tg_table_name)::text end,
      '{}',
      case when event_role is null then session_user end,
      case when event_role is null then current_setting('application_name') end
    from (select t.tenantid from rowpost.tenant t where t.schema = coalesce(root_schema, tg_table_schema)::text and t.tenantid = tg_argv[0]::int) e;
  elsif pg_partition_root(tg_relid) is null or (select count(*) from old_rows) = (select count(*) from new_rows) then
    -- PostgreSQL adds to both tables at once, row by row.
    insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
    select e.tenantid, event_role, 'update',
      case when coalesce(root_name, tg_table_name) = tg_argv[1] then tg_argv[2]
        else coalesce(root_name, tg_table_name)::text end,
      rowpost.event_key(e.after, (select rowpost.key_columns(tg_relid, tg_argv[3:]))),
      e.before, e.after,
      case when event_role is null then session_user end,
      case when event_role is null then current_setting('application_name') end
    from (
      select a.before, b.after,
        (select t.tenantid from rowpost.tenant t where t.schema = coalesce(root_schema, tg_table_schema)::text and t.tenantid = tg_argv[0]::int) as tenantid
      from (
        select row_number() over () as n, case
          when not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384)
            then row_to_json(old_rows.*)
          when (select rowpost.is_row_json_guarded()) then rowpost.row_json(old_rows.*)
          else json_build_object('capture_error', 'Run "rowpost release".')
        end as before
        from old_rows offset 0
      ) a join (
        select row_number() over () as n, case
          when not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384)
            then row_to_json(new_rows.*)
          when (select rowpost.is_row_json_guarded()) then rowpost.row_json(new_rows.*)
          else json_build_object('capture_error', 'Run "rowpost release".')
        end as after
        from new_rows offset 0
      ) b using (n) offset 0
    ) e
    where e.tenantid is not null;
  else
    -- A trigger stopped a row on its way to another partition: it has been deleted.
    insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
    select t.tenantid, event_role, case when a.key is null then 'insert' when b.key is null then 'delete' else 'update' end,
      case when coalesce(root_name, tg_table_name) = tg_argv[1] then tg_argv[2]
        else coalesce(root_name, tg_table_name)::text end,
      coalesce(b.key, a.key)::json, a.before, b.after,
      case when event_role is null then session_user end,
      case when event_role is null then current_setting('application_name') end
    from (select t.tenantid from rowpost.tenant t where t.schema = coalesce(root_schema, tg_table_schema)::text and t.tenantid = tg_argv[0]::int) t, (
        select before, rowpost.event_key(before, (select rowpost.key_columns(tg_relid, tg_argv[3:])))::text as key
        from (
          select case
            when not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384)
              then row_to_json(old_rows.*)
            when (select rowpost.is_row_json_guarded()) then rowpost.row_json(old_rows.*)
            else json_build_object('capture_error', 'Run "rowpost release".')
          end as before
          from old_rows offset 0
        ) o offset 0
      ) a full join (
        select after, rowpost.event_key(after, (select rowpost.key_columns(tg_relid, tg_argv[3:])))::text as key
        from (
          select case
            when not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384)
              then row_to_json(new_rows.*)
            when (select rowpost.is_row_json_guarded()) then rowpost.row_json(new_rows.*)
            else json_build_object('capture_error', 'Run "rowpost release".')
          end as after
          from new_rows offset 0
        ) n offset 0
      ) b on a.key = b.key;
  end if;
  return null;
end $$;
revoke all on function rowpost.capture_rows from public;
