// An API key has responses kept up to the quota of its role: programs are what repeats mutations. An anonymous client keeps 1 MB, since
// anyone may be many.

export async function up(knex) {
  await knex.raw(`
    create or replace function rowpost_tenant.keep_response(roleid int, client text, key text, response text) returns void
      language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
    declare
      size int := octet_length($4);
      is_kept boolean := true;
    begin
      if size > 1048576 then
        perform rowpost_tenant.refuse('responseNotKept');
      end if;
      if size > 4096 then
        select coalesce(sum(k.bytes), 0) + size <= 134217728
            and coalesce(sum(k.bytes) filter (where k.roleid = $1), 0) + size <= 67108864
            and ($2 = ''
              or coalesce(sum(k.bytes) filter (where k.roleid = $1 and k.client = $2), 0) + size <= 1048576
              or exists (select from rowpost.api_key a
                where a.tenantid = rowpost_tenant.tenantid() and a.roleid = $1 and a.keyid::text = $2))
          into is_kept
          from rowpost.idempotency_key k
          where k.tenantid = rowpost_tenant.tenantid() and k.bytes > 4096;
      end if;
      if is_kept then
        update rowpost.idempotency_key k set response = $4, bytes = size
          where k.tenantid = rowpost_tenant.tenantid() and k.roleid = $1 and k.client = $2 and k.key = $3
            and k.response is null;
      end if;
    end $$;
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
