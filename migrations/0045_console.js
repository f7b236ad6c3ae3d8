// Every delivery as it is, once more: what its start and its attempt say is looked up row by row, and only for the columns
// that a statement reads. Joined, with a plan that can't know that both lie in the delivery's partition, a page of a list
// read all starts and attempts of all days: 0.5 s among a million deliveries.

export async function up(knex) {
  const start = (column) => `(select s.${column} from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime)`;
  const attempt = (column) => `(select a.${column} from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime)`;
  await knex.raw(`
    create or replace view rowpost.email_delivery as
      select d.tenantid, d.deliveryid, d.eventid, d.ruleid, d.email_type, d.operation, d.target, d.key, d.delivery,
        case when d.tracked then d.state when ${attempt('attempt')} is not null then 'sent'
          when ${start('deliveryid')} is not null then 'sending' else d.state end as state,
        case when d.tracked or ${attempt('attempt')} is null then d.attempts else 1 end as attempts,
        case when d.tracked or d.recipients is not null then d.recipients else ${start('recipients')} end as recipients,
        case when d.tracked or d.subject is not null then d.subject else ${start('subject')} end as subject,
        case when d.tracked or d.provider_message_id is not null then d.provider_message_id
          else ${attempt('provider_message_id')} end as provider_message_id,
        d.error_code, d.error, d.createtime, d.next_attempt,
        case when d.tracked or d.sent_time is not null then d.sent_time else ${attempt('finished')} end as sent_time,
        case when d.tracked or ${start('deliveryid')} is null then d.starts else 1 end as starts,
        case when d.tracked then d.due else ${start('leased_until')} end as due
      from rowpost.delivery d;

    -- What readers and writers of an email type agree on: a save says which version it changes.
    alter table rowpost.email_types add column version int not null default 1;
    create function rowpost.next_email_type_version() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp as $$
      begin
        new.version := old.version + 1;
        return new;
      end $$;
    create trigger next_version before update on rowpost.email_types
      for each row execute function rowpost.next_email_type_version();

    -- Without a setting of its own it is made part of the statement that calls it, and without a regular expression it takes
    -- half the time: a search looks at thousands of deliveries.
    create or replace function rowpost.recipient_texts(recipients text[]) returns text[]
      language sql immutable strict parallel safe
    return recipients || array(
      select address from unnest(recipients) as r(recipient),
        lateral (select case when recipient like '%>' then split_part(rtrim(recipient, '>'), '<', -1) else recipient end) as a(bare),
        lateral (values (bare), (lower(bare))) as v(address)
      where address <> recipient);
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
