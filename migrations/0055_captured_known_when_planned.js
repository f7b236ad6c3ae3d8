// Each write of the API asked pg_trigger whether a trigger records its events, which cost more than recording them.

export async function up(knex) {
  await knex.raw(`
    -- Volatile, so that it sees what was committed before it was asked, not before its caller's statement began.
    create function rowpost_tenant.has_capture_trigger(relation regclass, operation text) returns boolean
      language plpgsql volatile set search_path = pg_catalog, pg_temp
    as $$
    begin
      return exists (select from pg_trigger g
        where g.tgrelid = relation and g.tgname = 'rowpost_capture_' || operation and g.tgenabled in ('O', 'A'));
    end $$;

    -- Immutable on purpose: evaluated when a statement is planned, and a constant of the plan from then on. To plan a write is to
    -- lock its table, against which triggers are made, dropped, enabled and disabled; each of these ends the plans of its
    -- table. So a plan that runs knows what is true. Only for statements that write to the table.
    create function rowpost_tenant.is_captured(relation regclass, operation text) returns boolean
      language plpgsql immutable set search_path = pg_catalog, pg_temp
    as $$
    begin
      return rowpost_tenant.has_capture_trigger(relation, operation);
    end $$;

    grant execute on function rowpost_tenant.has_capture_trigger, rowpost_tenant.is_captured to public;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
