// When captured tables had lost their triggers.

export async function up(knex) {
  await knex.raw(`
    -- When a relay has looked at the triggers of all captured tables. Rows are inserted, never updated: a long read elsewhere would
    -- keep each old version alive.
    create table rowpost.capture_check (
      checkid bigint generated always as identity primary key,
      time timestamptz not null default now()
    );
    -- Spans in which a captured table lacked triggers, as after it was dropped and created again.
    create table rowpost.capture_gap (
      tenantid int not null references rowpost.tenant on delete cascade,
      table_name text not null,
      -- when the triggers were last seen; null if no relay had looked before
      since timestamptz,
      -- null while they are missing
      until timestamptz
    );
    create index capture_gap_table on rowpost.capture_gap (tenantid, table_name);
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
