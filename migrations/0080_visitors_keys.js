// Each anonymous client has Idempotency-Keys of its own, and what is kept of answers is bounded by bytes.

/** Smaller answers take no more than the rows and events that come with them, and are always kept. */
const COUNTED_BYTES = 4_096;
const MAX_BYTES = 1_048_576;
const BYTES_OF_TENANT = 134_217_728;
const BYTES_OF_ROLE = 67_108_864;
const BYTES_OF_VISITOR = 1_048_576;

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.idempotency_key
      -- Of all anonymous clients, who are one role; empty for others.
      add column visitor text not null default '' check (octet_length(visitor) <= 64),
      -- The size of the answer.
      add column bytes int not null default 0,
      drop constraint idempotency_key_pkey,
      add primary key (tenantid, roleid, visitor, key);
    create index on rowpost.idempotency_key (tenantid) include (roleid, visitor, bytes) where bytes > ${COUNTED_BYTES};

    -- As before, for anonymous clients as well.
    create function rowpost_tenant.claim_request(roleid int, visitor text, key text, request_hash bytea) returns void
      language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '20ms'
    as $$
    #variable_conflict use_column
    begin
      insert into rowpost.idempotency_key as known (tenantid, roleid, visitor, key, request_hash)
        values (rowpost_tenant.tenantid(), $1, $2, $3, $4)
        on conflict (tenantid, roleid, visitor, key) do update
          set request_hash = excluded.request_hash, answer = null, bytes = 0, createtime = now()
          where known.createtime < now() - interval '24 hours';
      if not found then
        perform rowpost_tenant.refuse('requestClaimed');
      end if;
    exception when lock_not_available then
      perform rowpost_tenant.refuse('requestClaimed');
    end $$;

    -- Beyond a quota only the key is kept: the request took effect, and does not again.
    create function rowpost_tenant.keep_answer(roleid int, visitor text, key text, answer text) returns void
      language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
    declare
      size int := octet_length($4);
      is_kept boolean := true;
    begin
      if size > ${MAX_BYTES} then
        perform rowpost_tenant.refuse('answerNotKept');
      end if;
      if size > ${COUNTED_BYTES} then
        select coalesce(sum(k.bytes), 0) + size <= ${BYTES_OF_TENANT}
            and coalesce(sum(k.bytes) filter (where k.roleid = $1), 0) + size <= ${BYTES_OF_ROLE}
            and ($2 = '' or coalesce(sum(k.bytes) filter (where k.roleid = $1 and k.visitor = $2), 0) + size
              <= ${BYTES_OF_VISITOR})
          into is_kept
          from rowpost.idempotency_key k
          where k.tenantid = rowpost_tenant.tenantid() and k.bytes > ${COUNTED_BYTES};
      end if;
      if is_kept then
        update rowpost.idempotency_key k set answer = $4, bytes = size
          where k.tenantid = rowpost_tenant.tenantid() and k.roleid = $1 and k.visitor = $2 and k.key = $3
            and k.answer is null;
      end if;
    end $$;

    create function rowpost_tenant.first_answer(roleid int, visitor text, key text, request_hash bytea)
      returns table (is_same boolean, answer text)
      language sql stable security definer set search_path = pg_catalog, pg_temp
    begin atomic
      select k.request_hash = first_answer.request_hash, k.answer from rowpost.idempotency_key k
        where k.tenantid = rowpost_tenant.tenantid() and k.roleid = first_answer.roleid
          and k.visitor = first_answer.visitor and k.key = first_answer.key
          and k.createtime >= now() - interval '24 hours';
    end;

    -- For processes of the previous release.
    create or replace function rowpost_tenant.claim_request(roleid int, key text, request_hash bytea) returns void
      language sql security definer set search_path = pg_catalog, pg_temp
    begin atomic
      select rowpost_tenant.claim_request($1, '', $2, $3);
    end;
    create or replace function rowpost_tenant.keep_answer(roleid int, key text, answer text) returns void
      language sql security definer set search_path = pg_catalog, pg_temp
    begin atomic
      select rowpost_tenant.keep_answer($1, '', $2, $3);
    end;

    revoke execute on function rowpost_tenant.claim_request(int, text, text, bytea),
      rowpost_tenant.keep_answer(int, text, text, text), rowpost_tenant.first_answer(int, text, text, bytea) from public;
  `);

  // As `release` grants them to roles that it makes.
  await knex.raw(`
    do $$ declare tenant record; begin
      for tenant in select rolname from pg_roles r, pg_database d
        where d.datname = current_database() and r.rolname ~ ('^rowpost_' || d.oid || '_tenant_[0-9]+$')
      loop
        execute format('grant execute on function rowpost_tenant.claim_request(int, text, text, bytea),
          rowpost_tenant.keep_answer(int, text, text, text), rowpost_tenant.first_answer(int, text, text, bytea) to %I',
          tenant.rolname);
      end loop;
    end $$;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
