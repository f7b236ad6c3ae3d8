// A capture trigger is one that calls rowpost.capture_rows. Its name is its table's owner's choice, and proves nothing.

export async function up(knex) {
  await knex.raw(`
    -- Its callers may not use the schema rowpost, in which a regproc would be looked up.
    create or replace function rowpost_tenant.has_capture_trigger(relation regclass, operation text) returns boolean
      language plpgsql volatile set search_path = pg_catalog, pg_temp
    as $$
    begin
      return exists (select from pg_trigger g
        join pg_proc p on p.oid = g.tgfoid and p.proname = 'capture_rows'
        join pg_namespace n on n.oid = p.pronamespace and n.nspname = 'rowpost'
        where g.tgrelid = relation and g.tgenabled in ('O', 'A')
          and g.tgtype = case operation when 'insert' then 4 when 'delete' then 8 when 'update' then 16 when 'truncate' then 32 end);
    end $$;

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
          where t.tenantid = rowpost_tenant.tenantid() and rowpost_tenant.has_capture_trigger(c.oid, operation)) then
        perform set_config('rowpost.roleid', roleid::text, true);
        return 1;
      end if;
      return rowpost_tenant.capture_change(roleid, operation, target, key, old, new);
    end $$;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
