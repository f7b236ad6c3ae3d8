-- Replicas for reads.

-- Written every second where there are replicas: the newest one that a replica has tells how far it is behind.
create table rowpost.replica_heartbeat (
  -- one row
  id boolean primary key default true check (id),
  time timestamptz not null default clock_timestamp()
) with (fillfactor = 10);
insert into rowpost.replica_heartbeat default values;

-- Only to be locked: a transaction on a replica that has switched to a tenant's role goes on after the shared login has lost the
-- role on the primary. It has a lock that the revocation conflicts with. A replica replays that, and what comes after it, once
-- the transaction has ended. Not a table, because backups lock all tables for as long as they take.
create view rowpost_tenant.replica_lock as select 1 as locked;
