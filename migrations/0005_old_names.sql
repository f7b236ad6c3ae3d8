-- What runs as the service in a writer's transaction trusts neither old names of columns nor domains.

-- What a column is called by now, also in a transaction that sees the catalog as it was when it began; null if it was dropped.
create function rowpost.column_name(relation oid, number smallint) returns name
  language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  return (pg_identify_object_as_address('pg_class'::regclass, relation, number)).object_names[3];
end $$;
revoke all on function rowpost.column_name from public;

-- A column of somebody's type as an expression over a row `n`. PostgreSQL's own types, whose numbers are below 16384, have no
-- casts of somebody's. Others become text by their output functions, as the API casts them to text.
create or replace function rowpost.column_sql(name name, type oid) returns text
  language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  kind "char" := (select t.typtype from pg_type t where t.oid = type);
  base oid;
  item oid;
  -- A list of domains over lists, which the API shows as text.
  is_nested boolean;
begin
  if kind not in ('e', 'r', 'm') then
    base := rowpost.base_type(type);
    item := (select rowpost.base_type(l.oid) from pg_type b join pg_type l on l.oid = b.typelem and l.typarray = b.oid where b.oid = base);
    select t.typtype, t.typcategory = 'A' into kind, is_nested from pg_type t where t.oid = coalesce(item, base);
    is_nested := is_nested and item is not null;
    if coalesce(item, base) < 16384 and not is_nested then return format('n.%I', name); end if;
    if (kind = 'c' or item is not null and not is_nested) and rowpost.is_value_json_guarded() then
      -- Not as a domain: to be passed to a function, a composite value of one is checked, which is code, and not yet read-only.
      return format('rowpost.value_json(n.%I::%s, %s)', name, format_type(base, null), case when kind = 'c' then 'false' else 'true' end);
    end if;
  end if;
  return format('case when n.%1$I is distinct from null then concat(n.%1$I) end', name);
end $$;

-- For triggers, whose arguments are the tenant, the table and the columns of its key. Keys are noted by the types' output
-- functions: conversion to JSON would run casts, which may be code of the tenant, as the service. They are read from the row
-- only while the table has the columns of these names: `($1).name` is a call of the function `name` where there is no such
-- column, and PostgreSQL has functions that run casts.
create or replace function rowpost.note_move_change() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  -- As the key is read again.
  set datestyle = 'ISO' set intervalstyle = 'postgres' set extra_float_digits = 1 set bytea_output = 'hex'
as $$
declare
  columns text[] := tg_argv[2:];
  to_key text := (select 'select jsonb_build_object(' || string_agg(format('%L, concat(($1).%I)', c, c), ', ') || ')'
    from unnest(columns) c);
  before jsonb;
  after jsonb;
begin
  -- They can't change while we write. Once one was renamed, the move fails, and says that the structure changed.
  if (select count(*) from pg_attribute a where a.attrelid = tg_relid and a.attnum > 0 and a.attname = any (columns)
      and rowpost.column_name(tg_relid, a.attnum) = a.attname) <> cardinality(columns) then
    return null;
  end if;
  if tg_op in ('UPDATE', 'DELETE') then
    execute to_key into before using old;
  end if;
  if tg_op in ('INSERT', 'UPDATE') then
    execute to_key into after using new;
  end if;
  insert into rowpost.move_change (tenantid, table_name, key)
    select distinct tg_argv[0]::int, tg_argv[1], k from unnest(
      case tg_op when 'TRUNCATE' then array[null::jsonb] else array_remove(array[before, after], null) end) k;
  return null;
end $$;

-- Runs once a statement, as the service. Nobody else may attach it: without transition tables its statements would find
-- whatever relations of those names the writer's session has. Arguments: tenant, name of the table, its name in GraphQL,
-- columns of its key. The service replaces triggers whose arguments are no longer right. Until then a table that its owner has
-- moved to the schema of another tenant writes no events.
create or replace function rowpost.capture_rows() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  -- As in the API's sessions, so that values become the same text.
  set timezone = 'UTC' set datestyle = 'ISO' set intervalstyle = 'iso_8601' set extra_float_digits = 1
  set bytea_output = 'hex' set quote_all_identifiers = off
  -- Maintenance of the outbox holds locks for moments; a writer's own timeout may be shorter.
  set lock_timeout = 0
as $$
#variable_conflict use_variable
declare
  -- Said by the API in its own statement; true only of a table of the tenant that says it.
  said_role text := nullif(current_setting('rowpost.roleid', true), '');
  own_tenant int;
  -- The table of a partition, or the table itself.
  root_schema text := tg_table_schema;
  root_name text := tg_table_name;
  event_tenant int;
  event_role int;
  event_target text;
  event_writer text;
  event_application text;
  row_count int;
  is_paired boolean := true;
  is_as_seen boolean;
  is_row_by_row boolean := false;
  has_virtual boolean;
  is_keyed boolean;
  key_names text[];
  key_sql text;
  record_sql text;
  types_sql text;
  rows_sql text;
  before_sql text;
  after_sql text;
  no_rows_sql constant text := 'select 0::bigint as place, null::json as key, null::json as record where false';
  keys json[];
  befores json[];
  afters json[];
  failed json[];
begin
  -- Whoever writes may set it to anything.
  if said_role is not null then
    said_role := substring(said_role from '^[0-9]{1,9}$');
    if said_role is not null then own_tenant := rowpost_tenant.tenantid(); end if;
  end if;
  if pg_partition_root(tg_relid) <> tg_relid then
    select n.nspname, c.relname into root_schema, root_name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = pg_partition_root(tg_relid);
  end if;
  -- To start a statement, or to evaluate an expression of plpgsql, is what a single row pays for, so the usual case is one
  -- statement that checks and inserts: no upload, a table that has its name, its first one to three columns as its key, types of
  -- PostgreSQL. It inserts nothing in any other case. The columns can't change while we write, and the catalog tells them as they
  -- are, unless the transaction sees it as it was when it began.
  --
  -- The first columns are read by names that no other can have; what a row begins with says whether they are the key. That a row
  -- has no types of somebody is no condition of the statement alone, which may be evaluated later than the conversion.
  if coalesce(current_setting('rowpost.uploading', true), '') = ''
    and tg_nargs between 4 and 6 and root_name = tg_argv[1] and (tg_op <> 'UPDATE' or pg_partition_root(tg_relid) is null)
    and current_setting('transaction_isolation') = 'read committed' then
    if tg_op = 'INSERT' then
      insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
      select e.tenantid, case when e.tenantid = own_tenant then said_role::int end, 'insert', tg_argv[2],
        case when octet_length(e.key::text) <= 1048576 then e.key else '{}' end, null, e.after,
        case when e.tenantid = own_tenant then null else session_user end,
        case when e.tenantid = own_tenant then null else current_setting('application_name') end
      from (
        select f.tenantid, case when f.is_plain then row_to_json(n.*) end as after,
          case when not f.is_plain then null when tg_nargs = 4 then json_build_object(tg_argv[3], r.ctid)
            when tg_nargs = 5 then json_build_object(tg_argv[3], r.ctid, tg_argv[4], r.xmin)
            else json_build_object(tg_argv[3], r.ctid, tg_argv[4], r.xmin, tg_argv[5], r.cmin) end as key,
          concat('{', to_json(tg_argv[3]), ':', case when f.is_plain and tg_nargs > 4 then
            concat(to_json(r.ctid), ',', to_json(tg_argv[4]), ':', case when tg_nargs > 5 then
              concat(to_json(r.xmin), ',', to_json(tg_argv[5]), ':') end) end) as start
        from (
          select (select t.tenantid from rowpost.tenant t where t.schema = root_schema and t.tenantid = tg_argv[0]::int) as tenantid,
            not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0
              and (c.atttypid >= 16384 or c.attgenerated = 'v')) as is_plain
          offset 0
        ) f, new_rows n, lateral (select n.*, null, null, null) r (ctid, xmin, cmin)
        where f.tenantid is not null and f.is_plain offset 0
      ) e
      where starts_with(e.after::text, e.start);
    elsif tg_op = 'UPDATE' then
      insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
      select e.tenantid, case when e.tenantid = own_tenant then said_role::int end, 'update', tg_argv[2],
        case when octet_length(e.key::text) <= 1048576 then e.key else '{}' end, e.before, e.after,
        case when e.tenantid = own_tenant then null else session_user end,
        case when e.tenantid = own_tenant then null else current_setting('application_name') end
      from (
        select a.tenantid, a.before, b.after, b.key, b.start
        from (
          select row_number() over () as place, f.tenantid, case when f.is_plain then row_to_json(n.*) end as before
          from (
            select (select t.tenantid from rowpost.tenant t where t.schema = root_schema and t.tenantid = tg_argv[0]::int) as tenantid,
              not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0
                and (c.atttypid >= 16384 or c.attgenerated = 'v')) as is_plain
            offset 0
          ) f, old_rows n
          where f.tenantid is not null and f.is_plain offset 0
        ) a join (
          select row_number() over () as place, case when f.is_plain then row_to_json(n.*) end as after,
            case when not f.is_plain then null when tg_nargs = 4 then json_build_object(tg_argv[3], r.ctid)
              when tg_nargs = 5 then json_build_object(tg_argv[3], r.ctid, tg_argv[4], r.xmin)
              else json_build_object(tg_argv[3], r.ctid, tg_argv[4], r.xmin, tg_argv[5], r.cmin) end as key,
            concat('{', to_json(tg_argv[3]), ':', case when f.is_plain and tg_nargs > 4 then
              concat(to_json(r.ctid), ',', to_json(tg_argv[4]), ':', case when tg_nargs > 5 then
                concat(to_json(r.xmin), ',', to_json(tg_argv[5]), ':') end) end) as start
          from (
            select not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0
              and (c.atttypid >= 16384 or c.attgenerated = 'v')) as is_plain
            offset 0
          ) f, new_rows n, lateral (select n.*, null, null, null) r (ctid, xmin, cmin)
          where f.is_plain offset 0
        ) b using (place) offset 0
      ) e
      where starts_with(e.after::text, e.start);
    elsif tg_op = 'DELETE' then
      insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
      select e.tenantid, case when e.tenantid = own_tenant then said_role::int end, 'delete', tg_argv[2],
        case when octet_length(e.key::text) <= 1048576 then e.key else '{}' end, e.before, null,
        case when e.tenantid = own_tenant then null else session_user end,
        case when e.tenantid = own_tenant then null else current_setting('application_name') end
      from (
        select f.tenantid, case when f.is_plain then row_to_json(n.*) end as before,
          case when not f.is_plain then null when tg_nargs = 4 then json_build_object(tg_argv[3], r.ctid)
            when tg_nargs = 5 then json_build_object(tg_argv[3], r.ctid, tg_argv[4], r.xmin)
            else json_build_object(tg_argv[3], r.ctid, tg_argv[4], r.xmin, tg_argv[5], r.cmin) end as key,
          concat('{', to_json(tg_argv[3]), ':', case when f.is_plain and tg_nargs > 4 then
            concat(to_json(r.ctid), ',', to_json(tg_argv[4]), ':', case when tg_nargs > 5 then
              concat(to_json(r.xmin), ',', to_json(tg_argv[5]), ':') end) end) as start
        from (
          select (select t.tenantid from rowpost.tenant t where t.schema = root_schema and t.tenantid = tg_argv[0]::int) as tenantid,
            not exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0
              and (c.atttypid >= 16384 or c.attgenerated = 'v')) as is_plain
          offset 0
        ) f, old_rows n, lateral (select n.*, null, null, null) r (ctid, xmin, cmin)
        where f.tenantid is not null and f.is_plain offset 0
      ) e
      where starts_with(e.before::text, e.start);
    end if;
    if found then return null; end if;
  end if;

  select t.tenantid into event_tenant from rowpost.tenant t where t.schema = root_schema and t.tenantid = tg_argv[0]::int;
  -- There is no tenant once it is deleted.
  if event_tenant is null then return null; end if;
  -- A tenant's code can't say more than in an event that it writes by itself.
  if current_setting('rowpost.uploading', true) = 'on' and event_tenant = rowpost_tenant.tenantid() then return null; end if;
  if event_tenant = own_tenant then event_role := said_role::int; end if;
  if event_role is null then
    event_writer := session_user;
    event_application := current_setting('application_name');
  end if;
  event_target := case when root_name = tg_argv[1] then tg_argv[2] else root_name end;

  if tg_op = 'TRUNCATE' then
    insert into rowpost.outbox (tenantid, roleid, operation, target, key, writer, application)
    values (event_tenant, event_role, 'truncate', event_target, '{}', event_writer, event_application);
    return null;
  end if;

  -- Every other case: what is converted is named column by column. Whatever fails is no reason to refuse the writer's rows. A
  -- block that only reads takes no transaction id, of which a transaction should not have many.
  if tg_op = 'INSERT' then
    row_count := (select count(*) from new_rows);
  else
    row_count := (select count(*) from old_rows);
  end if;
  if row_count = 0 then return null; end if;
  if tg_op = 'UPDATE' then
    -- A trigger may stop a row on its way to another partition: then it has been deleted.
    is_paired := pg_partition_root(tg_relid) is null or row_count = (select count(*) from new_rows);
  end if;
  key_names := tg_argv[3:];
  for attempt in 1..3 loop
    begin
      select coalesce(string_agg(format('%s as %I', c.expression, c.attname), ', ' order by c.attnum), ''),
          coalesce(string_agg(format('%L, %s', c.attname, c.expression), ', ' order by c.place) filter (where c.place is not null), ''),
          string_agg(format('pg_typeof(n.%I) = %s::regtype', c.attname, c.atttypid), ' and ') filter (where c.attgenerated <> 'v'),
          bool_or(c.attgenerated = 'v'), count(c.place) = cardinality(key_names)
        into record_sql, key_sql, types_sql, has_virtual, is_keyed
        from (
          select a.attname, a.attnum, a.atttypid, a.attgenerated, array_position(key_names, a.attname::text) as place,
            case when a.attgenerated = 'v' then rowpost.virtual_column_sql(tg_relid, a.attnum, is_row_by_row)
              when a.atttypid < 16384 then format('n.%I', a.attname)
              else rowpost.column_sql(a.attname, a.atttypid) end as expression
          from pg_attribute a where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped offset 0
        ) c;
      if not is_keyed and attempt = 1 then
        key_names := rowpost.key_columns(tg_relid, key_names);
        continue;
      end if;
      -- A transaction that sees the catalog as it was when it began may find columns by names or of types that they no longer have.
      -- Casts of other types would run here; and `n.name` calls the function `name` where the rows have no such column.
      if current_setting('transaction_isolation') <> 'read committed' then
        is_as_seen := not exists (select from pg_attribute a where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped
          and a.attname is distinct from rowpost.column_name(tg_relid, a.attnum));
        if is_as_seen then
          execute format('select %s from (select) s left join %I n on false', types_sql,
            case tg_op when 'DELETE' then 'old_rows' else 'new_rows' end) into is_as_seen;
        end if;
        if not is_as_seen then
          raise exception 'the columns of the table were changed while the transaction was open';
        end if;
      end if;
      rows_sql := case when has_virtual then format('(select n.*, %s::oid as tableoid from %%I n)', tg_relid) else '%I' end;
      before_sql := format(rows_sql, 'old_rows') || ' n, lateral (select ' || record_sql || ') r';
      after_sql := format(rows_sql, 'new_rows') || ' n, lateral (select ' || record_sql || ') r';
      if row_count <= 1000 and is_paired then
        rows_sql := 'select array_agg(json_build_object(' || key_sql || ')), array_agg(row_to_json(r.*)) from ';
        if tg_op <> 'INSERT' then execute rows_sql || before_sql into keys, befores; end if;
        if tg_op <> 'DELETE' then execute rows_sql || after_sql into keys, afters; end if;
        exit;
      end if;
      rows_sql := 'select row_number() over () as place, json_build_object(' || key_sql || ') as key, row_to_json(r.*) as record from ';
      execute 'insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
        select $1, $2, case when e.before is null then ''insert'' when e.after is null then ''delete'' else ''update'' end, $3,
          case when octet_length(e.key::text) <= 1048576 then e.key else ''{}'' end, e.before, e.after, $4, $5
        from (select coalesce(a.key, b.key) as key, b.record as before, a.record as after from ('
          || case tg_op when 'INSERT' then no_rows_sql else rows_sql || before_sql end || ') b full join ('
          || case tg_op when 'DELETE' then no_rows_sql else rows_sql || after_sql end || ') a on '
          || case when is_paired then 'a.place = b.place' else 'a.key::text = b.key::text' end || ' offset 0) e'
      using event_tenant, event_role, event_target, event_writer, event_application;
      return null;
    exception when others then
      if is_row_by_row then
        failed := array_fill(json_build_object('capture_error', sqlerrm), array[row_count]);
        keys := array_fill('{}'::json, array[row_count]);
        befores := case when tg_op <> 'INSERT' then failed end;
        afters := case when tg_op <> 'DELETE' then failed end;
        exit;
      end if;
      -- PostgreSQL stores a row for which the expression of a virtual column fails.
      is_row_by_row := true;
    end;
  end loop;
  insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, writer, application)
  select event_tenant, event_role, lower(tg_op), event_target,
    case when octet_length(e.key::text) <= 1048576 then e.key else '{}' end, e.before, e.after, event_writer, event_application
  from unnest(keys, befores, afters) e (key, before, after);
  return null;
end $$;
