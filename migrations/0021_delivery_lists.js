// Indexes for each list of deliveries that is asked for: those for an address, of an email type, with an error, with a report. Each
// gives the newest first, so that a page reads the rows that it shows, however many there are.

export async function up(knex) {
  await knex.raw(`
    -- Whom a delivery was meant for, by address. Written by triggers, so that releases before this table fill it, too. A delivery
    -- whose recipients changed before it was sent again has those before as well.
    create table rowpost.email_recipient (
      tenantid int not null,
      -- in lower case, without the name; the beginning of a text that is no address
      address text collate "C" not null,
      deliveryid bigint not null,
      -- of the delivery
      createtime timestamptz not null,
      primary key (tenantid, address, deliveryid, createtime)
    ) partition by range (createtime);
    create table rowpost.email_recipient_default partition of rowpost.email_recipient default;

    -- For the days that there are.
    do $$
    declare day record;
    begin
      for day in
        select right(c.relname, 8) as name, pg_get_expr(c.relpartbound, c.oid) as bounds
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'rowpost.delivery'::regclass and c.relname ~ '_[0-9]{8}$'
      loop
        execute format('create table rowpost.%I partition of rowpost.email_recipient %s',
          'email_recipient_' || day.name, day.bounds);
      end loop;
    end $$;

    -- An index entry has at most 2,704 bytes: a longer text must not keep an email from being sent.
    create function rowpost.address_of(recipient text) returns text
      language sql immutable strict parallel safe
    return left(lower(case when recipient like '%>' then split_part(rtrim(recipient, '>'), '<', -1) else recipient end), 320);

    create function rowpost.note_recipients() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      insert into rowpost.email_recipient (tenantid, address, deliveryid, createtime)
      select tenantid, rowpost.address_of(recipient), deliveryid, createtime
      from added, unnest(coalesce(intended, recipients)) recipient where recipient is not null
      on conflict do nothing;
      return null;
    end $$;
    create trigger note_recipients after insert on rowpost.delivery
      referencing new table as added for each statement execute function rowpost.note_recipients();
    create trigger note_recipients after insert on rowpost.delivery_start
      referencing new table as added for each statement execute function rowpost.note_recipients();

    create function rowpost.note_changed_recipients() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      insert into rowpost.email_recipient (tenantid, address, deliveryid, createtime)
      select c.tenantid, rowpost.address_of(recipient), c.deliveryid, c.createtime
      from changed c join before b using (tenantid, deliveryid, createtime), unnest(coalesce(c.intended, c.recipients)) recipient
      where coalesce(c.intended, c.recipients) is distinct from coalesce(b.intended, b.recipients) and recipient is not null
      on conflict do nothing;
      return null;
    end $$;
    create trigger note_changed_recipients after update on rowpost.delivery
      referencing old table as before new table as changed
      for each statement execute function rowpost.note_changed_recipients();

    -- Not by tenant first: in a partition without statistics, as each new day's, such an index would seem as good as the primary key,
    -- and be read for all rows of the tenant, to find one.
    create index delivery_type on rowpost.delivery (email_type, tenantid, deliveryid, createtime);
    create index delivery_error_code on rowpost.delivery (tenantid, error_code, deliveryid, createtime)
      where error_code is not null;

    -- Of each kind: the index before had bounces and complaints only, together.
    create index email_event_kind on rowpost.email_event (event, tenantid, deliveryid, createtime);
    drop index rowpost.email_event_trouble;
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
