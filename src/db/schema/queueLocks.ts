import type { PoolClient } from 'pg';

/**
 * Any role of a database can take any advisory lock, so a tenant's code could hold BullMQ's, whose keys are predictable,
 * and stop the queue. This replaces BullMQ's functions with ones that lock rows instead, which only the service can lock
 * and which survive a wipe of the queue. Likewise its notifications go to channels that nobody else knows: see `hideChannels`.
 * The shared locks only exclude `obliterate`, which nothing here calls. Reapplied after each BullMQ migration.
 */
export async function replaceAdvisoryLocks(client: PoolClient): Promise<void> {
  await client.query(REPLACE_SQL);
}

/** Keys that hash to the same row merely wait for each other. */
const LOCK_ROWS = 256;

const REPLACE_SQL = `
  begin;
  create table if not exists rowpost.queue_lock (id int primary key);
  insert into rowpost.queue_lock select generate_series(0, ${LOCK_ROWS - 1}) on conflict do nothing;

  create or replace function bullmq.pg_advisory_xact_lock(key bigint) returns void
    language plpgsql set search_path = pg_catalog, pg_temp as $$
  begin
    perform from rowpost.queue_lock where id = key & ${LOCK_ROWS - 1} for update;
  end $$;

  create or replace function bullmq.pg_try_advisory_xact_lock(key bigint) returns boolean
    language plpgsql set search_path = pg_catalog, pg_temp as $$
  begin
    perform from rowpost.queue_lock where id = key & ${LOCK_ROWS - 1} for update skip locked;
    return found;
  end $$;

  create or replace function bullmq.pg_advisory_xact_lock(key1 int, key2 int) returns void
    language sql set search_path = pg_catalog, pg_temp as $$
    select bullmq.pg_advisory_xact_lock(hashint8extended(key1, key2))
  $$;

  create or replace function bullmq.pg_advisory_xact_lock_shared(key1 int, key2 int) returns void
    language sql immutable set search_path = pg_catalog, pg_temp as $$ select $$;

  create or replace function bullmq.pg_notify(channel text, payload text) returns void
    language plpgsql set search_path = pg_catalog, pg_temp as $$
  begin
    perform rowpost.notify(channel, payload);
  end $$;

  -- pg_catalog is searched first unless it is named, and pg_temp before it.
  do $$
  declare
    routine regprocedure;
  begin
    for routine in select oid from pg_catalog.pg_proc
      where pronamespace = 'bullmq'::regnamespace and proconfig && '{search_path=bullmq,"search_path=bullmq, pg_catalog"}'::text[]
    loop
      execute format('alter routine %s set search_path = bullmq, pg_catalog, pg_temp', routine);
    end loop;
  end $$;
  commit;`;
