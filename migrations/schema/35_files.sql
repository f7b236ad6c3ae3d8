-- Files of rows: which tables have them, uploads that are under way, and files with the place of their bytes in the storage.
-- Tenants' transactions promise, record and list them by the functions in 45_tenant_functions.sql.

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
  -- when it may be deleted: a process that writes the object extends this
  due timestamptz not null,
  -- being deleted: no file may take it over anymore
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
  -- of the current attempt
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
  -- when the row was first seen to be gone, deleted by other means than the API
  rowless_since timestamptz
);
-- The hash: keys may be longer than an index takes. It finds them; equal are the keys themselves.
create unique index file_of_row on rowpost.file (tenantid, target, md5(key::text), filenum);

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
    state := 'in_progress';
  else
    state := 'begun';
    insert into rowpost.file_object (objectkey, due) values (begin_upload.objectkey, now() + lease);
    update rowpost.upload u set objectkey = begin_upload.objectkey where u.storagekey = promise.storagekey;
  end if;
  return query select state, promise.roleid, promise.target, promise.key::text, promise.filename,
    promise.mimetype, promise.size;
end $$;
