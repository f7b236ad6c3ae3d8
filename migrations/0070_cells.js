// Cells: which tenants this installation does not hold, and its copy of the directory that says who does.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.tenant
      -- The cell that the tenant is handed over to, or arrives from. While it is set, this installation neither serves the
      -- tenant nor begins to send its mail.
      add column moved_to text,
      -- the newest move that changed moved_to: what an older one would still do has no effect
      add column move bigint not null default 0;

    -- Copied from the directory.
    create table rowpost.cell (
      name text primary key,
      base_url text not null,
      -- ids from here times ten million are made there
      id_range int not null unique,
      -- this installation
      own boolean not null default false
    );
    create unique index cell_own on rowpost.cell (own) where own;
    -- Tenants that have moved; all others are where their ids were made.
    create table rowpost.cell_tenant (
      tenantid int primary key,
      cell text not null
    );

    -- Rows that changed since they were copied to another cell.
    create table rowpost.move_change (
      changeid bigint generated always as identity primary key,
      tenantid int not null,
      table_name text not null,
      -- null when the whole table was truncated
      key jsonb
    );
    create index move_change_tenant on rowpost.move_change (tenantid);

    -- For triggers, whose arguments are the tenant, the table and the columns of its key.
    create function rowpost.note_move_change() returns trigger
      language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
    declare
      columns text[] := tg_argv[2:];
      before jsonb;
      after jsonb;
    begin
      if tg_op in ('UPDATE', 'DELETE') then
        select jsonb_object_agg(c, to_jsonb(old) -> c) into before from unnest(columns) c;
      end if;
      if tg_op in ('INSERT', 'UPDATE') then
        select jsonb_object_agg(c, to_jsonb(new) -> c) into after from unnest(columns) c;
      end if;
      insert into rowpost.move_change (tenantid, table_name, key)
        select distinct tg_argv[0]::int, tg_argv[1], k from unnest(
          case tg_op when 'TRUNCATE' then array[null::jsonb] else array_remove(array[before, after], null) end) k;
      return null;
    end $$;
    revoke all on function rowpost.note_move_change from public;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
