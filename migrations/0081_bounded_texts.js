// Expressions of clients may need more memory or time for a long value than one row may take: they ask for shorter ones.

export async function up(knex) {
  await knex.raw(`
    create function rowpost_tenant.within(value text, bytes int) returns text language plpgsql immutable parallel safe
      set search_path = pg_catalog, pg_temp as $body$
    begin
      if octet_length(value) > bytes then
        raise exception 'a value has more than % bytes', bytes using errcode = 'RP002';
      end if;
      return value;
    end $body$;

    create function rowpost_tenant.within(value anyelement, bytes int) returns anyelement language plpgsql immutable parallel safe
      set search_path = pg_catalog, pg_temp as $body$
    begin
      -- The text of a compressed value may be large: its stored size comes first.
      if pg_column_size(value) > bytes or octet_length(value::text) > bytes then
        raise exception 'a value has more than % bytes', bytes using errcode = 'RP002';
      end if;
      return value;
    end $body$;

    grant execute on function rowpost_tenant.within(text, int), rowpost_tenant.within(anyelement, int) to public`);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
