// Deliveries that go well are only ever inserted: the delivery, the start of its first attempt, the attempt's end.
// A ledger that is updated twice a mail collects two dead rows a mail for as long as any long read is open.
// What does not end within seconds, or not with the first attempt, is *tracked*: from then on its own row says how it
// is, and is updated.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.email_delivery rename to delivery;
    alter index rowpost.email_delivery_due rename to delivery_due;
    alter index rowpost.email_delivery_paused rename to delivery_paused;
    do $$
    declare
      part name;
    begin
      for part in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'rowpost.delivery'::regclass
      loop
        execute format('alter table rowpost.%I rename to %I', part, replace(part, 'email_delivery', 'delivery'));
      end loop;
    end $$;

    alter table rowpost.delivery
      -- whether this row says how the delivery is. If not, its start and its attempt do, if there are any.
      add column tracked boolean not null default true,
      -- the transaction that recorded it: the sweep reads what became visible between two snapshots
      add column xid xid8 not null default pg_current_xact_id();
    alter table rowpost.delivery alter column tracked set default false;
    create index delivery_xid on rowpost.delivery (xid);

    -- The first attempt of a delivery that is not tracked begins to send. The key is its fence.
    create table rowpost.delivery_start (
      tenantid int not null,
      deliveryid bigint not null,
      started timestamptz not null default now(),
      leased_until timestamptz not null,
      recipients text[] not null,
      subject text not null,
      -- of the delivery
      createtime timestamptz not null,
      primary key (tenantid, deliveryid, createtime)
    ) partition by range (createtime);
    create table rowpost.delivery_start_default partition of rowpost.delivery_start default;

    alter table rowpost.email_attempt add column provider_message_id text;

    -- Deliveries that became visible between the two snapshots are looked at once, a moment later: what has not ended
    -- by then is tracked. Rows are inserted, never updated.
    create table rowpost.delivery_sweep (
      sweepid bigint generated always as identity primary key,
      previous bigint not null unique,
      since pg_snapshot not null,
      until pg_snapshot not null,
      time timestamptz not null default now()
    );
    insert into rowpost.delivery_sweep (previous, since, until) values (0, '3:3:', '3:3:');

    -- Every delivery as it is.
    create view rowpost.email_delivery as
      select d.tenantid, d.deliveryid, d.eventid, d.ruleid, d.email_type, d.operation, d.target, d.key, d.delivery,
        case when d.tracked then d.state when a.attempt is not null then 'sent'
          when s.deliveryid is not null then 'sending' else d.state end as state,
        case when a.attempt is not null and not d.tracked then 1 else d.attempts end as attempts,
        coalesce(d.recipients, s.recipients) as recipients,
        coalesce(d.subject, s.subject) as subject,
        coalesce(d.provider_message_id, a.provider_message_id) as provider_message_id,
        d.error_code, d.error, d.createtime, d.next_attempt,
        coalesce(d.sent_time, a.finished) as sent_time,
        case when d.tracked or s.deliveryid is null then d.starts else 1 end as starts,
        case when d.tracked then d.due else s.leased_until end as due
      from rowpost.delivery d
        left join rowpost.delivery_start s on not d.tracked
          and s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime
        left join rowpost.email_attempt a on not d.tracked and a.attempt = 1
          and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
