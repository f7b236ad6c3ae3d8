-- The outbox, and how far the relay has read it. Tables that grow are partitioned by day and lose their oldest partitions.
-- The relay creates partitions days ahead; what arrives when it has been away for long goes to the default ones, so that a
-- mutation never fails for want of a partition.

-- Every event, written by the transaction that made the change. Rows are only ever inserted, and leave with their
-- partition: a queue table that is updated collects dead rows under long reads.
create table rowpost.outbox (
  eventid bigint generated always as identity,
  -- the writing transaction: the relay reads what became visible between two snapshots
  xid xid8 not null default pg_current_xact_id(),
  time timestamptz not null default now(),
  -- The tenant is the database role in force. Whoever writes events as no tenant has to name one.
  tenantid int not null default
    rowpost_tenant.tenantid_of(coalesce(nullif(current_setting('role'), 'none')::name, session_user)),
  -- null if it was not the API that changed the row: then the writer is who did
  roleid int,
  operation text not null,
  target text not null,
  key json not null,
  old json,
  new json,
  -- of an upload
  file json,
  -- the PostgreSQL login and the application_name of another writer than the API
  writer text,
  application text,
  -- The trace that the event's delivery continues, a W3C traceparent. A writer gives it by
  -- `set local rowpost.traceparent = '00-…'`; the API does for requests that it traces.
  traceparent text default left(nullif(current_setting('rowpost.traceparent', true), ''), 55),
  primary key (eventid, time)
) partition by range (time);
create index outbox_xid on rowpost.outbox (xid);
create table rowpost.outbox_default partition of rowpost.outbox default;

-- Tenants' roles write events by this view: a mutation writes its event in its own statement, without calling a function,
-- which would cost half as much again. A statement that comes by it writes with its owner's rights, and only these columns:
-- tenant, number, transaction and time of an event are PostgreSQL's to say, and the files of rows are recorded by record_file.
-- What names an event stays short, because keys are copied to deliveries, returned and logged. The condition is not a check
-- constraint of the table, which PostgreSQL would parse from its catalog in every statement: the service's own functions
-- limit what they write.
create view rowpost_tenant.event as
  select roleid, operation, target, key, old, new from rowpost.outbox
  where octet_length(operation) <= 100 and octet_length(target) <= 1000 and octet_length(key::text) <= 1048576
  with local check option;
-- To everyone who may use the schema, which are the tenants' roles. Nobody is granted to read it: that would be all
-- tenants' events.
grant insert on rowpost_tenant.event to public;

-- The events that record_file writes.
create view rowpost.upload_event as
  select tenantid, roleid, operation, target, key, old, new, file from rowpost.outbox
  where octet_length(target) <= 1000 and octet_length(key::text) <= 1048576
  with local check option;

-- How far the relay has read the outbox: all events visible in the newest poll's snapshot are in batches
-- (or matched no rule). Rows are inserted, never updated: a long read elsewhere would keep each old version alive.
create table rowpost.relay_poll (
  pollid bigint generated always as identity primary key,
  -- the poll that this one continues: two can't continue the same one, whatever the locks say
  previous bigint not null unique,
  snapshot pg_snapshot not null,
  time timestamptz not null default now()
);
insert into rowpost.relay_poll (previous, snapshot) values (0, '3:3:');

-- Locked by LOCK TABLE, which needs no transaction id. Tables, which nobody but the service may lock: advisory locks are
-- anybody's.
create table rowpost.relay_lock ();
create table rowpost.maintenance_lock ();

-- An exception that is caught is not logged: relays try several times a second.
create function rowpost.try_relay_lock() returns boolean
  language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  lock table rowpost.relay_lock in share update exclusive mode nowait;
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Events of one tenant, handed to a worker as one job.
create table rowpost.relay_batch (
  batchid bigint generated always as identity,
  tenantid int not null,
  eventids bigint[] not null,
  -- the events' times, which say in which partitions of the outbox they are
  mintime timestamptz not null,
  maxtime timestamptz not null,
  createtime timestamptz not null default now(),
  primary key (batchid, createtime)
) partition by range (createtime);
create table rowpost.relay_batch_default partition of rowpost.relay_batch default;

-- Starts of a batch after an earlier worker ended with it, without a word.
create table rowpost.relay_batch_start (
  batchid bigint not null,
  time timestamptz not null default now(),
  -- of the batch
  createtime timestamptz not null
) partition by range (createtime);
create index on rowpost.relay_batch_start (batchid);
create table rowpost.relay_batch_start_default partition of rowpost.relay_batch_start default;

-- The batch's rules are evaluated and its deliveries are in the ledger.
create table rowpost.relay_batch_done (
  batchid bigint not null,
  -- of the batch
  createtime timestamptz not null,
  time timestamptz not null default now(),
  primary key (batchid, createtime)
) partition by range (createtime);
create table rowpost.relay_batch_done_default partition of rowpost.relay_batch_done default;

-- Every batch below is done: where a relay that starts begins to look for open batches, so that it need not read all that
-- are kept. Rows are inserted, never updated.
create table rowpost.relay_batch_mark (
  markid bigint generated always as identity primary key,
  batchid bigint not null,
  time timestamptz not null default now()
);
insert into rowpost.relay_batch_mark (batchid) values (0);

-- Any role may notify any channel, as often as it likes, and each process that listens to it is busy with that. So the names of
-- the service's channels are its secret: other roles can neither read them nor see who listens to what.
create table rowpost.channel_suffix (suffix text not null);
insert into rowpost.channel_suffix values (replace(gen_random_uuid()::text, '-', ''));

create function rowpost.hidden_channel(channel text) returns text
  language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select channel || '_' || suffix from rowpost.channel_suffix;
end;

create function rowpost.listen_to(channel text) returns void
  language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('listen %I', rowpost.hidden_channel(channel));
end $$;

create function rowpost.notify(channel text, payload text) returns void
  language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify(rowpost.hidden_channel(channel), payload);
end $$;

revoke all on function rowpost.hidden_channel, rowpost.listen_to, rowpost.notify from public;
