// A type's cast to json runs as the role that owns the function that runs it, and an owner may drop what it owns, or change its own
// role. What converts rows only reads.

export async function up(knex) {
  await knex.raw(`
    create or replace function rowpost.row_json(captured record) returns json
      language plpgsql stable security definer set search_path = pg_catalog, pg_temp
    as $$
    begin
      -- Within this block, which is a transaction of its own, nothing can undo that.
      perform set_config('transaction_read_only', 'on', true);
      return row_to_json(captured);
    exception when others then
      -- A broken cast is no reason to refuse the writer's row.
      return json_build_object('capture_error', sqlerrm);
    end $$;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
