-- Moves of a tenant to another cell: rows that changed since they were copied.

create table rowpost.move_change (
  changeid bigint generated always as identity primary key,
  tenantid int not null,
  table_name text not null,
  -- null when the whole table was truncated
  key jsonb
);
create index move_change_tenant on rowpost.move_change (tenantid);

-- For triggers, whose arguments are the tenant, the table and the columns of its key. Keys are noted by the types' output
-- functions: conversion to JSON would run casts, which may be code of the tenant, as the service. They are read from the row
-- only while the table has the columns of these names: `($1).name` is a call of the function `name` where there is no such
-- column, and PostgreSQL has functions that run casts.
create function rowpost.note_move_change() returns trigger
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
revoke all on function rowpost.note_move_change from public;
