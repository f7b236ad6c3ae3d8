// How many deliveries there are, by hour: figures that the console shows without reading the ledger.

export async function up(knex) {
  await knex.raw(`
    -- By hour of the delivery's createtime. Counted anew from the ledger, never added to, so the rows can't drift.
    create table rowpost.delivery_count (
      tenantid int not null references rowpost.tenant on delete cascade,
      hour timestamptz not null,
      status text not null,
      -- empty if there is none
      carrier text not null,
      error_code text not null,
      deliveries int not null,
      primary key (tenantid, hour, status, carrier, error_code)
    );

    -- How long it took from the change until the carrier accepted, of what was not sent again by hand.
    create table rowpost.delivery_count_by_wait (
      tenantid int not null references rowpost.tenant on delete cascade,
      hour timestamptz not null,
      -- The milliseconds and one more are 2 to the power of an eighth of this, rounded down.
      wait smallint not null,
      deliveries int not null,
      primary key (tenantid, hour, wait)
    );

    -- A table of its own, because a tenant may have thousands of email types.
    create table rowpost.delivery_count_by_type (
      tenantid int not null references rowpost.tenant on delete cascade,
      hour timestamptz not null,
      email_type text not null,
      ruleid bigint not null,
      status text not null,
      deliveries int not null,
      primary key (tenantid, hour, email_type, ruleid, status)
    );

    -- Hours to count (again). Rows are only added, in the transaction of the change: one that commits while an hour is
    -- counted leaves its row for the next time.
    create table rowpost.delivery_count_due (
      tenantid int not null,
      hour timestamptz not null
    );

    -- One row: who locks it counts. All that was committed by this time is counted.
    create table rowpost.delivery_count_run (
      counted timestamptz
    );
    insert into rowpost.delivery_count_run values (null);

    -- One statement, however many deliveries it changed.
    create function rowpost.count_deliveries_again() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      insert into rowpost.delivery_count_due (tenantid, hour)
      select distinct tenantid, date_trunc('hour', createtime, 'UTC') from added;
      return null;
    end $$;
    create trigger count_again after insert on rowpost.delivery
      referencing new table as added for each statement execute function rowpost.count_deliveries_again();
    create trigger count_again after insert on rowpost.delivery_start
      referencing new table as added for each statement execute function rowpost.count_deliveries_again();
    create trigger count_again after insert on rowpost.email_attempt
      referencing new table as added for each statement execute function rowpost.count_deliveries_again();
    create trigger count_again after insert on rowpost.email_event
      referencing new table as added for each statement execute function rowpost.count_deliveries_again();

    -- Leases and times of checks change all the time, and count for nothing.
    create function rowpost.count_changed_deliveries_again() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      insert into rowpost.delivery_count_due (tenantid, hour)
      select distinct tenantid, date_trunc('hour', createtime, 'UTC') from (
        select tenantid, deliveryid, createtime, tracked, state, error_code, carrier, sent_time from changed
        except
        select tenantid, deliveryid, createtime, tracked, state, error_code, carrier, sent_time from before) different;
      return null;
    end $$;
    create trigger count_changed_again after update on rowpost.delivery
      referencing old table as before new table as changed
      for each statement execute function rowpost.count_changed_deliveries_again();

    -- To find an hour in the partition of its day.
    create index delivery_time on rowpost.delivery using brin (createtime);
    create index delivery_start_time on rowpost.delivery_start using brin (createtime);
    create index email_attempt_time on rowpost.email_attempt using brin (createtime);
    create index email_event_time on rowpost.email_event using brin (createtime);

    -- What the ledger has already.
    insert into rowpost.delivery_count_due (tenantid, hour)
    select t.tenantid, h.hour
    from rowpost.tenant t, generate_series(
      (select min(to_date(substring(c.relname from '_([0-9]{8})$'), 'YYYYMMDD'))::timestamp at time zone 'UTC'
        from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'rowpost.delivery'::regclass),
      now(), interval '1 hour') h(hour);
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
