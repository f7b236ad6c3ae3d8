// Capturing a single row costs half: to start a statement, or to evaluate an expression of plpgsql, is what it pays for, so
// the usual case is one statement that asks and inserts. And what limits the names of events is no check constraint any
// more, which PostgreSQL parses from its catalog in every statement.

export async function up(knex) {
  await knex.raw(
    `
    -- Whoever writes events by himself does it by this view. The service's own functions limit what they write.
    create or replace view rowpost_tenant.event as
      select roleid, operation, target, key, old, new from rowpost.outbox
      where octet_length(operation) <= 100 and octet_length(target) <= 1000 and octet_length(key::text) <= 1048576
      with local check option;
    alter table rowpost.outbox drop constraint outbox_names_are_short;

    -- Tenants' roles may call it.
    create or replace function rowpost_tenant.capture_change(
      roleid int, operation text, target text, key json, old json, new json
    ) returns bigint
      language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
    begin
      insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
        values (roleid, operation, target, key, old, new);
      return currval('rowpost.outbox_eventid_seq');
    end $$;

    -- Those that the trigger was made with, or, where one has been renamed since, those of the primary key.
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

    -- False after a dump was restored, until the service looks at its tables: casts would run as the service.
    create function rowpost.is_row_json_guarded() returns boolean
      language plpgsql stable set search_path = pg_catalog, pg_temp
    as $$
    begin
      return not exists (select from pg_proc p
        where p.oid = 'rowpost.row_json(record)'::regprocedure and p.proowner = current_user::regrole);
    end $$;
    revoke all on function rowpost.is_row_json_guarded from public;

    -- Runs once a statement, as the service. Nobody else may attach it: without transition tables its statements would find
    -- whatever relations of those names the writer's session has. Arguments: version, name of the table, its name in
    -- GraphQL, columns of its key. The service replaces triggers whose arguments are no longer right.
    create or replace function rowpost.capture_rows() returns trigger
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
    begin
      -- The usual case: another writer, a table that is no partition and has its name, one column as its key, types of
      -- PostgreSQL. It inserts nothing in any other.
      if concat(current_setting('rowpost.roleid', true), current_setting('rowpost.uploading', true)) = '' then
        if tg_op = 'INSERT' then
          :usual_insert
          from (select after, after -> tg_argv[3] as key, :of_table as tenantid
            from (select :usual_json(new_rows) as after from new_rows offset 0) n offset 0) e
          :where_usual;
        elsif tg_op = 'UPDATE' then
          :usual_update
          from (select a.before, b.after, b.after -> tg_argv[3] as key, :of_table as tenantid
            from (select row_number() over () as n, :usual_json(old_rows) as before from old_rows offset 0) a
              join (select row_number() over () as n, :usual_json(new_rows) as after from new_rows offset 0) b using (n)
            offset 0) e
          :where_usual;
        elsif tg_op = 'DELETE' then
          :usual_delete
          from (select before, before -> tg_argv[3] as key, :of_table as tenantid
            from (select :usual_json(old_rows) as before from old_rows offset 0) o offset 0) e
          :where_usual;
        end if;
        if found then return null; end if;
      end if;

      if pg_partition_root(tg_relid) <> tg_relid then
        select n.nspname, c.relname into root_schema, root_name
        from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = pg_partition_root(tg_relid);
      end if;
      -- Said by the API in its own statement. A tenant's code can't say more than in an event that it writes by itself.
      if concat(current_setting('rowpost.roleid', true), current_setting('rowpost.uploading', true)) <> '' then
        if rowpost_tenant.tenantid() = (:tenant) then
          if current_setting('rowpost.uploading', true) = 'on' then return null; end if;
          event_role := nullif(current_setting('rowpost.roleid', true), '')::int;
        end if;
      end if;

      if tg_op = 'INSERT' then
        :insert
        from (select :json(new_rows) as after, (:tenant) as tenantid from new_rows offset 0) e
        where e.tenantid is not null;
      elsif tg_op = 'DELETE' then
        :delete
        from (select :json(old_rows) as before, (:tenant) as tenantid from old_rows offset 0) e
        where e.tenantid is not null;
      elsif tg_op = 'TRUNCATE' then
        insert into rowpost.outbox (tenantid, roleid, operation, target, key, writer, application)
        select e.tenantid, event_role, 'truncate', :target, '{}', :writer from (:tenant) e;
      elsif pg_partition_root(tg_relid) is null or (select count(*) from old_rows) = (select count(*) from new_rows) then
        -- PostgreSQL adds to both tables at once, row by row.
        :update
        from (select a.before, b.after, (:tenant) as tenantid
          from (select row_number() over () as n, :json(old_rows) as before from old_rows offset 0) a
            join (select row_number() over () as n, :json(new_rows) as after from new_rows offset 0) b using (n) offset 0) e
        where e.tenantid is not null;
      else
        -- A trigger stopped a row on its way to another partition: it has been deleted.
        insert into rowpost.outbox (${COLUMNS})
        select t.tenantid, event_role, case when a.key is null then 'insert' when b.key is null then 'delete' else 'update' end,
          :target, coalesce(b.key, a.key)::json, a.before, b.after, :writer
        from (:tenant) t,
          (select before, rowpost.event_key(before, :key_columns)::text as key
            from (select :json(old_rows) as before from old_rows offset 0) o offset 0) a
          full join (select after, rowpost.event_key(after, :key_columns)::text as key
            from (select :json(new_rows) as after from new_rows offset 0) n offset 0) b on a.key = b.key;
      end if;
      return null;
    end $$;
  `
      .replaceAll(':usual_insert', usualEventOf('insert', ['null', 'e.after']))
      .replaceAll(':usual_update', usualEventOf('update', ['e.before', 'e.after']))
      .replaceAll(':usual_delete', usualEventOf('delete', ['e.before', 'null']))
      .replaceAll(
        ':of_table',
        '(select t.tenantid from rowpost.tenant t where t.schema = tg_table_schema::text)',
      )
      .replaceAll(
        ':where_usual',
        `where tg_nargs = 4 and tg_table_name = tg_argv[1] and pg_partition_root(tg_relid) is null
            and e.tenantid is not null and e.key is not null`,
      )
      // Not left to a condition of the statement, which may be evaluated later.
      .replaceAll(/:usual_json\((\w+)\)/g, 'case when not :has_foreign_types then row_to_json($1.*) end')
      .replaceAll(':insert', eventOf('insert', 'e.after', ['null', 'e.after']))
      .replaceAll(':delete', eventOf('delete', 'e.before', ['e.before', 'null']))
      .replaceAll(':update', eventOf('update', 'e.after', ['e.before', 'e.after']))
      .replaceAll(
        /:json\((\w+)\)/g,
        `case when not :has_foreign_types then row_to_json($1.*)
          when (select rowpost.is_row_json_guarded()) then rowpost.row_json($1.*)
          else json_build_object('capture_error', 'Run "rowpost release".') end`,
      )
      // Columns can't change while we write. The types of PostgreSQL itself have no casts of somebody's.
      .replaceAll(
        ':has_foreign_types',
        'exists (select from pg_attribute c where c.attrelid = tg_relid and c.attnum > 0 and c.atttypid >= 16384)',
      )
      .replaceAll(':key_columns', '(select rowpost.key_columns(tg_relid, tg_argv[3:]))')
      // None where the tenant is gone.
      .replaceAll(
        ':tenant',
        'select t.tenantid from rowpost.tenant t where t.schema = coalesce(root_schema, tg_table_schema)::text',
      )
      .replaceAll(
        ':target',
        'case when coalesce(root_name, tg_table_name) = tg_argv[1] then tg_argv[2] else coalesce(root_name, tg_table_name)::text end',
      )
      .replaceAll(
        ':writer',
        `case when event_role is null then session_user end,
          case when event_role is null then current_setting('application_name') end`,
      ),
  );

  // As it is, with its event limited too.
  await knex.raw(`
    create view rowpost.upload_event as
      select tenantid, roleid, operation, target, key, old, new, file from rowpost.outbox
      where octet_length(target) <= 1000 and octet_length(key::text) <= 1048576
      with local check option`);
  const { rows } = await knex.raw(`
    select pg_get_functiondef(p.oid) as definition from pg_proc p
    where p.pronamespace = 'rowpost_tenant'::regnamespace and p.proname = 'record_file'`);
  for (const { definition } of rows) {
    await knex.raw(
      definition
        .replace('insert into rowpost.outbox (', 'insert into rowpost.upload_event (')
        .replaceAll('?', '\\?'),
    );
  }
}

const COLUMNS = 'tenantid, roleid, operation, target, key, old, new, writer, application';

// The key as json_build_object writes it, which the API uses; empty where it is longer than the outbox takes.
function usualEventOf(operation, [before, after]) {
  return `insert into rowpost.outbox (${COLUMNS})
          select e.tenantid, null, '${operation}', tg_argv[2],
            case when octet_length(e.key::text) < 1048000
              then ('{' || to_json(tg_argv[3])::text || ' : ' || e.key::text || '}')::json else '{}' end,
            ${before}, ${after}, session_user, current_setting('application_name')`;
}

function eventOf(operation, row, [before, after]) {
  return `insert into rowpost.outbox (${COLUMNS})
        select e.tenantid, event_role, '${operation}', :target, rowpost.event_key(${row}, :key_columns), ${before}, ${after}, :writer`;
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
