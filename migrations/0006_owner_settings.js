// Transactions of an adopted schema's tenant have the time zone of its owner's sessions; what the API prints is in UTC nevertheless.

export async function up(knex) {
  await knex.raw(`
    -- The JSON of a value as in a session in UTC; as one text, or as a list of texts, for types whose cast to json is not called. Only
    -- for sessions in another zone: a setting of a function costs microseconds a call.
    create function rowpost_tenant.in_utc(value anyelement, form text) returns json
      language plpgsql stable strict parallel safe set search_path = pg_catalog, pg_temp set timezone = 'UTC'
    as $$
    begin
      if form = 'text' then return to_json(value::text); end if;
      if form = 'texts' then return to_json(value::text[]); end if;
      return to_json(value);
    end $$;
    -- The file in an upload's event has the time of its creation.
    alter function rowpost_tenant.record_file set timezone = 'UTC';
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
