// Tenants whose schema belongs to somebody else: an application that was there before.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.tenant add column adopted boolean not null default false;

    -- The release before knows of no such tenants: it would drop the schema with the tenant.
    create function rowpost.keep_adopted() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      if old.adopted then
        raise exception 'the schema % was adopted: run "rowpost tenant release --tenant %"', old.schema, old.tenantid;
      end if;
      return old;
    end $$;
    create trigger keep_adopted before delete on rowpost.tenant for each row execute function rowpost.keep_adopted();
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
