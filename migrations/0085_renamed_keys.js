// The key of a changed row is read from the row only while the table has the columns of that name. `($1).name` is a call of the
// function `name` where there is no such column, and PostgreSQL has functions that run casts, which may be code of the tenant.

export async function up(knex) {
  await knex.raw(`
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
      if (select count(*) from pg_attribute a where a.attrelid = tg_relid and a.attnum > 0 and a.attname = any (columns))
          <> cardinality(columns) then
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
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
