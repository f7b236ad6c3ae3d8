// The directory of cells, in a database of its own.

export async function up(knex) {
  await knex.raw(`
    create table rowpost_directory.cell (
      name text primary key,
      base_url text not null,
      -- ids of tenants and roles made there begin at this times ten million
      id_range int not null unique
    );
    -- Tenants that have moved. All others are in the cell of their id.
    create table rowpost_directory.tenant (
      tenantid int primary key,
      cell text not null references rowpost_directory.cell
    );
    -- The keys that sign tokens in all cells, encrypted as they are there.
    create table rowpost_directory.signing_key (
      kid text primary key,
      public_jwk jsonb not null,
      private_jwk_encrypted text not null,
      createtime timestamptz not null
    );
    -- The identity providers that all tenants may use, as rows of a cell's table.
    create table rowpost_directory.oidc_provider (
      providerid int primary key,
      provider jsonb not null
    );
    create table rowpost_directory.move (
      moveid bigint generated always as identity primary key,
      tenantid int not null,
      source text not null references rowpost_directory.cell,
      target text not null references rowpost_directory.cell,
      step text not null default 'copying'
        check (step in ('copying', 'fenced', 'turned', 'done', 'aborting', 'broken_off')),
      started timestamptz not null default now(),
      changed timestamptz not null default now()
    );
    create unique index move_open on rowpost_directory.move (tenantid) where step not in ('done', 'broken_off');

    -- Cells listen, and copy what has changed.
    create function rowpost_directory.tell() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
    begin
      perform pg_notify('rowpost_directory', '');
      return null;
    end $$;
    create trigger tell after insert or update or delete on rowpost_directory.cell
      for each statement execute function rowpost_directory.tell();
    create trigger tell after insert or update or delete on rowpost_directory.tenant
      for each statement execute function rowpost_directory.tell();
    create trigger tell after insert or update or delete on rowpost_directory.signing_key
      for each statement execute function rowpost_directory.tell();
    create trigger tell after insert or update or delete on rowpost_directory.oidc_provider
      for each statement execute function rowpost_directory.tell();
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
