-- The functions that tenants' database roles may call. All others belong to the service.

-- The tenant whose role this is; null for any other.
create function rowpost_tenant.tenantid_of(role name) returns int
  language sql immutable parallel safe
  return case when role ~ '^rowpost_[0-9]+_tenant_[0-9]+$' then split_part(role::text, 'tenant_', 2)::int end;

-- The tenant of this session: its login, or the role that a shared connection has entered. A tenant's login can
-- enter no other role, whatever its code sets.
create function rowpost_tenant.tenantid() returns int
  language sql stable parallel safe
  return rowpost_tenant.tenantid_of(coalesce(nullif(current_setting('role'), 'none')::name, session_user));

-- Before a shared connection serves another tenant. Prepared statements stay: only the service creates them there.
create function rowpost_tenant.clean_session() returns void
  language plpgsql
as $$
begin
  reset all;
  execute 'close all';
  unlisten *;
  discard temp;
  discard sequences;
  perform pg_catalog.pg_advisory_unlock_all();
end $$;

-- Fails the statement, and with it the transaction whose commit is already on its way.
create function rowpost_tenant.refuse(reason text, columns text default '') returns text
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using errcode = 'RP001', message = reason, column = columns;
end $$;

-- Expressions of clients may need more memory or time for a long value than one row may take. They are given shorter ones.
create function rowpost_tenant.within(value text, bytes int) returns text
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length(value) > bytes then
    raise exception 'a value has more than % bytes', bytes using errcode = 'RP002';
  end if;
  return value;
end $$;

create function rowpost_tenant.within(value anyelement, bytes int) returns anyelement
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$
begin
  -- The text of a compressed value may be large: its stored size comes first.
  if pg_column_size(value) > bytes or octet_length(value::text) > bytes then
    raise exception 'a value has more than % bytes', bytes using errcode = 'RP002';
  end if;
  return value;
end $$;

-- A capture trigger is one that calls rowpost.capture_rows. Its name is its table's owner's choice, and proves nothing. The
-- callers may not use the schema rowpost, in which a regproc would be looked up. Volatile, so that it sees what was
-- committed before it is called, not before its caller's statement began.
create function rowpost_tenant.has_capture_trigger(relation regclass, operation text) returns boolean
  language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (select from pg_trigger g
    join pg_proc p on p.oid = g.tgfoid and p.proname = 'capture_rows'
    join pg_namespace n on n.oid = p.pronamespace and n.nspname = 'rowpost'
    where g.tgrelid = relation and g.tgenabled in ('O', 'A')
      and g.tgtype = case operation when 'insert' then 4 when 'delete' then 8 when 'update' then 16 when 'truncate' then 32 end);
end $$;

-- Immutable on purpose: evaluated when a statement is planned, and a constant of the plan from then on. To plan a write is to
-- lock its table, against which triggers are created, dropped, enabled and disabled; each of these ends the plans of its
-- table. So a plan that runs knows what is true. Only for statements that write to the table.
create function rowpost_tenant.is_captured(relation regclass, operation text) returns boolean
  language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  return rowpost_tenant.has_capture_trigger(relation, operation);
end $$;

create function rowpost_tenant.capture_change(roleid int, operation text, target text, key json, old json, new json)
  returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
    values (roleid, operation, target, key, old, new);
  return currval('rowpost.outbox_eventid_seq');
end $$;
comment on function rowpost_tenant.capture_change is 'Called by capture_file_row_change.';

-- capture_change for rows of a file table: their files go where the row goes. A new row begins without files, even if a row
-- with its key was deleted past the API and left some behind.
create function rowpost_tenant.capture_file_row_change(
  roleid int, operation text, target text, key json, old json, new json, table_name text, old_key jsonb
) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if operation = 'delete' then
    perform rowpost_tenant.drop_files(table_name, old_key, null, null);
  elsif operation = 'insert' then
    perform rowpost_tenant.drop_files(table_name, key::jsonb, null, null);
  elsif old_key is not null and old_key::text <> key::jsonb::text then
    -- Left by a row that a cascade or SQL has deleted.
    perform rowpost_tenant.drop_files(table_name, key::jsonb, null, null);
    -- As in events.
    perform rowpost_tenant.within(key::text, 1048576);
    update rowpost.file f set key = capture_file_row_change.key::jsonb
    where f.tenantid = rowpost_tenant.tenantid() and f.target = table_name
      and md5(f.key::text) = md5(old_key::text) and f.key = old_key;
  end if;
  -- Where a trigger captures the table, it writes the event.
  if exists (select from rowpost.tenant t join pg_class c on c.relname = table_name::name
      join pg_namespace n on n.oid = c.relnamespace and n.nspname = t.schema::name
      where t.tenantid = rowpost_tenant.tenantid() and rowpost_tenant.has_capture_trigger(c.oid, operation)) then
    perform set_config('rowpost.roleid', roleid::text, true);
    return 1;
  end if;
  return rowpost_tenant.capture_change(roleid, operation, target, key, old, new);
end $$;

create function rowpost_tenant.promise_upload(
  roleid int, target text, key jsonb, filenum int, filename text, mimetype text, size bigint, seconds int
) returns table (storagekey uuid, expires timestamptz)
  language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  tenant int := rowpost_tenant.tenantid();
begin
  if promise_upload.filenum is not null and not exists (
    select from rowpost.file f where f.tenantid = tenant and f.target = promise_upload.target
      and md5(f.key::text) = md5(promise_upload.key::text) and f.key = promise_upload.key and f.filenum = promise_upload.filenum
  ) then
    return;
  end if;
  return query insert into rowpost.upload as u
    (tenantid, roleid, target, key, filenum, filename, mimetype, size, expires)
    values (tenant, promise_upload.roleid, promise_upload.target, promise_upload.key, promise_upload.filenum,
      promise_upload.filename, promise_upload.mimetype, promise_upload.size,
      now() + make_interval(secs => promise_upload.seconds))
    returning u.storagekey, u.expires;
end $$;

-- Called while the row is locked, so that uploads to one row come one after the other. The file takes its object
-- over, and its event is written, or nothing of both: null when the promise or the object is gone.
create function rowpost_tenant.record_file(
  roleid int, storagekey uuid, objectkey text, mimetype text, size bigint, sha256 bytea,
  target_name text, event_key json, old json, new json
) returns json
  language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  tenant int := rowpost_tenant.tenantid();
  promise rowpost.upload;
  stored json;
  number int;
begin
  select u.* into promise from rowpost.upload u
    where u.storagekey = record_file.storagekey and u.tenantid = tenant and not u.done
      and u.objectkey = record_file.objectkey
    for update;
  if not found then return null; end if;
  delete from rowpost.file_object o where o.objectkey = record_file.objectkey and not o.sweeping;
  if not found then return null; end if;
  number := promise.filenum;
  if number is null then
    select coalesce(max(f.filenum), 0) + 1 into number from rowpost.file f
      where f.tenantid = tenant and f.target = promise.target and md5(f.key::text) = md5(promise.key::text) and f.key = promise.key;
  else
    perform rowpost_tenant.drop_files(promise.target, promise.key, null, number);
  end if;
  insert into rowpost.file as f
    (storagekey, tenantid, target, key, filenum, filename, mimetype, size, sha256, objectkey, roleid)
    values (promise.storagekey, tenant, promise.target, promise.key, number, promise.filename,
      record_file.mimetype, record_file.size, record_file.sha256, record_file.objectkey, record_file.roleid)
    returning json_build_object('storagekey', f.storagekey, 'filenum', f.filenum, 'filename', f.filename,
      'mimetype', f.mimetype, 'size', f.size, 'createtime', f.createtime) into stored;
  update rowpost.upload u set done = true where u.storagekey = promise.storagekey;
  insert into rowpost.upload_event (tenantid, roleid, operation, target, key, old, new, file)
    values (tenant, record_file.roleid, 'upload', record_file.target_name, record_file.event_key,
      record_file.old, record_file.new, stored);
  return stored;
end $$;

-- Files of a row, all or one of them, become objects without a file.
create function rowpost_tenant.drop_files(target text, key jsonb, storagekey uuid, filenum int)
  returns table (storagekey uuid, filenum int, filename text, mimetype text, size bigint, createtime timestamptz)
  language sql security definer set search_path = pg_catalog, pg_temp
as $$
  with gone as (
    delete from rowpost.file f
    where f.tenantid = rowpost_tenant.tenantid() and f.target = $1
      and md5(f.key::text) = md5($2::text) and f.key = $2
      and ($3 is null or f.storagekey = $3) and ($4 is null or f.filenum = $4)
    returning f.*
  ), objects as (
    insert into rowpost.file_object (objectkey, due) select g.objectkey, now() from gone g
  )
  select g.storagekey, g.filenum, g.filename, g.mimetype, g.size, g.createtime from gone g order by g.filenum
$$;

-- Stable: in a statement that deletes the row it still sees the files as they were.
create function rowpost_tenant.files_of(target text, key jsonb)
  returns table (storagekey uuid, filenum int, filename text, mimetype text, size bigint, createtime timestamptz)
  language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select f.storagekey, f.filenum, f.filename, f.mimetype, f.size, f.createtime from rowpost.file f
  where f.tenantid = rowpost_tenant.tenantid() and f.target = $1 and md5(f.key::text) = md5($2::text) and f.key = $2
  order by f.filenum limit 1000
$$;

-- Fails when the key is taken, by a request that was committed or by one that is in flight.
create function rowpost_tenant.claim_request(roleid int, client text, key text, request_hash bytea) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '20ms'
as $$
#variable_conflict use_column
begin
  insert into rowpost.idempotency_key as known (tenantid, roleid, client, key, request_hash)
    values (rowpost_tenant.tenantid(), $1, $2, $3, $4)
    on conflict (tenantid, roleid, client, key) do update
      set request_hash = excluded.request_hash, response = null, bytes = 0, createtime = now()
      where known.createtime < now() - interval '24 hours';
  if not found then
    perform rowpost_tenant.refuse('requestClaimed');
  end if;
exception when lock_not_available then
  perform rowpost_tenant.refuse('requestClaimed');
end $$;

-- Within the transaction that claimed the key. A response has at most 1 MB. Beyond the quotas of 128 MB for a tenant, 64 MB
-- for a role and 1 MB for an anonymous client only the key is kept: the request took effect, and does not again.
create function rowpost_tenant.keep_response(roleid int, client text, key text, response text) returns void
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
        and ($2 = '' or coalesce(sum(k.bytes) filter (where k.roleid = $1 and k.client = $2), 0) + size
          <= 1048576)
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

create function rowpost_tenant.first_response(roleid int, client text, key text, request_hash bytea)
  returns table (is_same boolean, response text)
  language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select k.request_hash = first_response.request_hash, k.response from rowpost.idempotency_key k
    where k.tenantid = rowpost_tenant.tenantid() and k.roleid = first_response.roleid
      and k.client = first_response.client and k.key = first_response.key
      and k.createtime >= now() - interval '24 hours';
end;

-- Granted to each tenant's role by name when it is created.
revoke all on all functions in schema rowpost_tenant from public;
-- To everyone who may use the schema, which are the tenants' roles, and the shared login.
grant execute on function rowpost_tenant.tenantid_of, rowpost_tenant.tenantid, rowpost_tenant.refuse,
  rowpost_tenant.clean_session, rowpost_tenant.has_capture_trigger, rowpost_tenant.is_captured,
  rowpost_tenant.within(text, int), rowpost_tenant.within(anyelement, int) to public;
