// While a tenant moves to another cell, its writes are held.
export async function up(knex) {
  await knex.raw(`
    -- Later releases don't know how to undo it.
    do $$ begin
      if exists (select from pg_trigger where tgfoid = 'rowpost.note_move_change'::regproc) then
        raise exception 'a move that 0.1.0 began has not ended: run it again, or abort it, with 0.1.0 first';
      end if;
    end $$;
    -- Tenants whose writes are held by a session that has locked their tables. Without that session, a row means nothing.
    create table rowpost.write_hold (
      tenantid int primary key references rowpost.tenant on delete cascade,
      pid int not null,
      backend_start timestamptz not null
    );
    -- Only 0.1.0 notes the changes of a tenant that moves, so these stay until it need not run on this schema any more.
    comment on table rowpost.move_change is 'of 0.1.0';
    comment on function rowpost.note_move_change is 'of 0.1.0';
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
