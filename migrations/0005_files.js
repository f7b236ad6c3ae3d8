// Files of rows: which tables have them, uploads that are under way, files with their bytes' place in the storage,
// and the doors through which a tenant's transaction promises, records and lists them.

export async function up(knex) {
  await knex.raw(`
    -- Tables whose rows may have files, by SQL name.
    create table rowpost.file_table (
      tenantid int not null references rowpost.tenant on delete cascade,
      table_name text not null,
      column_name text not null,
      creatorid int,
      createtime timestamptz not null default now(),
      primary key (tenantid, table_name)
    );

    -- Objects of the storage that belong to no file: not yet, or no longer. A row is here before the first byte is
    -- written, and leaves when a file takes the object over or when the object is surely gone. So nothing in the
    -- storage is ever without a row, and nobody has to list the storage.
    create table rowpost.file_object (
      objectkey text primary key,
      -- when it may be deleted: a process that writes the object moves this on
      due timestamptz not null,
      -- being deleted: no file may take it over any more
      sweeping boolean not null default false
    );
    create index file_object_due on rowpost.file_object (due);

    -- What upload_<t> has promised: one file of one row.
    create table rowpost.upload (
      storagekey uuid primary key default gen_random_uuid(),
      tenantid int not null,
      roleid int not null,
      target text not null,
      key jsonb not null,
      -- the number of the file that it replaces
      filenum int,
      filename text not null,
      mimetype text,
      size bigint,
      expires timestamptz not null,
      -- of the attempt in hand
      objectkey text,
      done boolean not null default false
    );
    create index upload_expires on rowpost.upload (expires);

    -- Without references to tenant and row: a file outlives them until its bytes are gone.
    create table rowpost.file (
      storagekey uuid primary key,
      tenantid int not null,
      -- the table's SQL name, and the row's key by SQL names
      target text not null,
      key jsonb not null,
      filenum int not null,
      filename text not null,
      mimetype text not null,
      size bigint not null,
      sha256 bytea not null,
      objectkey text not null unique,
      roleid int not null,
      createtime timestamptz not null default now(),
      -- since when the row is seen to be gone, deleted by other means than the API
      rowless_since timestamptz
    );
    -- The hash: keys may be longer than an index takes. It finds them; equal are the keys themselves.
    create unique index file_of_row on rowpost.file (tenantid, target, md5(key::text), filenum);

    alter table rowpost.outbox add column file json;
    alter table rowpost.email_types add column attachments jsonb not null default '[]';
    -- names, types and sizes
    alter table rowpost.mailbox add column attachments json not null default '[]';

    -- The first step of a PUT. An attempt whose process is gone is followed by another once its object is due.
    create function rowpost.begin_upload(storagekey uuid, tenantid int, objectkey text, lease interval)
      returns table (state text, roleid int, target text, key text, filename text, mimetype text, size bigint)
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    #variable_conflict use_column
    declare
      promise rowpost.upload;
    begin
      select u.* into promise from rowpost.upload u
        where u.storagekey = begin_upload.storagekey and u.tenantid = begin_upload.tenantid
        for update;
      if not found or not promise.done and promise.expires <= now() then
        state := 'expired';
      elsif promise.done then
        state := 'done';
      elsif exists (select from rowpost.file_object o
          where o.objectkey = promise.objectkey and not o.sweeping and o.due > now()) then
        state := 'in_hand';
      else
        state := 'begun';
        insert into rowpost.file_object (objectkey, due) values (begin_upload.objectkey, now() + lease);
        update rowpost.upload u set objectkey = begin_upload.objectkey where u.storagekey = promise.storagekey;
      end if;
      return query select state, promise.roleid, promise.target, promise.key::text, promise.filename,
        promise.mimetype, promise.size;
    end $$;

    create function rowpost_tenant.promise_upload(
      roleid int, target text, key jsonb, filenum int, filename text, mimetype text, size bigint, seconds int
    ) returns table (storagekey uuid, expires timestamptz)
      language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
    #variable_conflict use_column
    declare
      tenant int := substr(current_setting('role'), 8)::int;
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
      tenant int := substr(current_setting('role'), 8)::int;
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
      insert into rowpost.outbox (tenantid, roleid, operation, target, key, old, new, file)
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
        where f.tenantid = substr(current_setting('role'), 8)::int and f.target = $1
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
      where f.tenantid = substr(current_setting('role'), 8)::int and f.target = $1 and md5(f.key::text) = md5($2::text) and f.key = $2
      order by f.filenum limit 1000
    $$;

    -- capture_change for rows of a file table: their files go where the row goes.
    create function rowpost_tenant.capture_file_row_change(
      roleid int, operation text, target text, key json, old json, new json, table_name text, old_key jsonb
    ) returns bigint
      language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
    begin
      if operation = 'delete' then
        perform rowpost_tenant.drop_files(table_name, old_key, null, null);
      elsif old_key is not null and old_key::text <> key::jsonb::text then
        update rowpost.file f set key = capture_file_row_change.key::jsonb
        where f.tenantid = substr(current_setting('role'), 8)::int and f.target = table_name
          and md5(f.key::text) = md5(old_key::text) and f.key = old_key;
      end if;
      return rowpost_tenant.capture_change(roleid, operation, target, key, old, new);
    end $$;

    revoke all on all functions in schema rowpost_tenant from public;

    -- Tenants that are there already; later ones are granted all of the schema's functions when they are made.
    do $$
    declare
      tenant record;
    begin
      for tenant in select tenantid from rowpost.tenant where schema is not null loop
        if exists (select from pg_roles where rolname = 'tenant_' || tenant.tenantid) then
          execute format('grant execute on all functions in schema rowpost_tenant to %I', 'tenant_' || tenant.tenantid);
        end if;
      end loop;
    end $$;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
