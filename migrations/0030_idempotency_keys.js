// Requests with an Idempotency-Key: their first answer is kept with what they changed, in one transaction.

export async function up(knex) {
  await knex.raw(`
    create table rowpost.idempotency_key (
      tenantid int not null references rowpost.tenant on delete cascade,
      roleid int not null,
      key text not null check (octet_length(key) between 1 and 1020),
      request_hash bytea not null,
      -- Null only in the transaction that makes the row.
      answer text,
      createtime timestamptz not null default now(),
      primary key (tenantid, roleid, key)
    );
    create index on rowpost.idempotency_key (createtime);

    -- Fails when the key is taken, by a request that was committed or by one that is in flight.
    create function rowpost_tenant.claim_request(roleid int, key text, request_hash bytea) returns void
      language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '20ms'
    as $$
    #variable_conflict use_column
    begin
      insert into rowpost.idempotency_key as known (tenantid, roleid, key, request_hash)
        values (rowpost_tenant.tenantid(), $1, $2, $3)
        on conflict (tenantid, roleid, key) do update
          set request_hash = excluded.request_hash, answer = null, createtime = now()
          where known.createtime < now() - interval '24 hours';
      if not found then
        perform rowpost_tenant.refuse('requestClaimed');
      end if;
    exception when lock_not_available then
      perform rowpost_tenant.refuse('requestClaimed');
    end $$;

    -- Within the transaction that claimed the key.
    create function rowpost_tenant.keep_answer(roleid int, key text, answer text) returns void
      language sql security definer set search_path = pg_catalog, pg_temp
    begin atomic
      update rowpost.idempotency_key k set answer = keep_answer.answer
        where k.tenantid = rowpost_tenant.tenantid() and k.roleid = keep_answer.roleid and k.key = keep_answer.key
          and k.answer is null;
    end;

    create function rowpost_tenant.first_answer(roleid int, key text, request_hash bytea)
      returns table (is_same boolean, answer text)
      language sql stable security definer set search_path = pg_catalog, pg_temp
    begin atomic
      select k.request_hash = first_answer.request_hash, k.answer from rowpost.idempotency_key k
        where k.tenantid = rowpost_tenant.tenantid() and k.roleid = first_answer.roleid and k.key = first_answer.key
          and k.createtime >= now() - interval '24 hours';
    end;

    revoke execute on function rowpost_tenant.claim_request, rowpost_tenant.keep_answer, rowpost_tenant.first_answer
      from public;
  `);

  // As \`release\` grants them to roles that it makes.
  await knex.raw(`
    do $$ declare tenant record; begin
      for tenant in select rolname from pg_roles r, pg_database d
        where d.datname = current_database() and r.rolname ~ ('^rowpost_' || d.oid || '_tenant_[0-9]+$')
      loop
        execute format('grant execute on function rowpost_tenant.claim_request, rowpost_tenant.keep_answer,
          rowpost_tenant.first_answer to %I', tenant.rolname);
      end loop;
    end $$;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
