-- The ledger: deliveries, their attempts, and what became of the emails. Tables that grow are partitioned by day, most by
-- the delivery's createtime, so that a key is unique for as long as the delivery is kept.
--
-- Deliveries that go well are only ever inserted: the delivery, the start of its first attempt, the attempt's end. A ledger
-- that is updated twice an email collects two dead rows an email for as long as any long read is open. What does not end
-- within seconds, or not with the first attempt, is *tracked*: from then on its own row says how it is, and is updated.

-- Ids that leave the database must never be given out twice. A sequence steps back with the database, when a backup is
-- restored or a standby takes over that was behind; the clock does not. So an id is the milliseconds since September 2020,
-- then twelve bits of a number that wraps around. It is exact in a double for 69 years.
create sequence rowpost.delivery_number;

-- One event × one matching rule.
create table rowpost.delivery (
  tenantid int not null,
  deliveryid bigint not null default
    (extract(epoch from clock_timestamp()) * 1000 - 1600000000000)::bigint * 4096
      + (nextval('rowpost.delivery_number') & 4095),
  eventid bigint not null,
  ruleid bigint not null,
  email_type text not null,
  operation text not null,
  target text not null,
  key json not null,
  -- the rule's policy for outcomes that can't be known
  delivery text not null check (delivery in ('at_least_once', 'at_most_once')),
  state text not null default 'pending'
    check (state in ('pending', 'sending', 'retrying', 'paused', 'sent', 'failed', 'skipped', 'unknown')),
  -- attempts used up; an attempt that the tenant's key or a rate limit stopped is not counted
  attempts int not null default 0,
  recipients text[],
  subject text,
  provider_message_id text,
  error_code text,
  error text,
  -- of the event
  createtime timestamptz not null,
  next_attempt timestamptz,
  sent_time timestamptz,
  -- Number of the newest attempt. It is the fencing token: who holds an older number changes nothing anymore.
  starts int not null default 0,
  -- when the current attempt began to send
  started timestamptz,
  -- attempts in a row that ended with their process
  lost int not null default 0,
  -- When the reconciler looks at this delivery again: the lease's end while sending. Null if nobody needs to.
  due timestamptz,
  -- whether this row says how the delivery is. If not, its start and its attempt do, if there are any.
  tracked boolean not null default false,
  -- the transaction that recorded it: the sweep reads what became visible between two snapshots
  xid xid8 not null default pg_current_xact_id(),
  -- of the newest attempt
  carrier text,
  primary key (tenantid, deliveryid, createtime),
  unique (eventid, ruleid, createtime)
) partition by range (createtime);
create index delivery_due on rowpost.delivery (due) where due is not null;
create index delivery_paused on rowpost.delivery (tenantid) where state = 'paused';
create index delivery_xid on rowpost.delivery (xid);
-- For lists of what was not sent. Deliveries that went well have no error code, so they cost nothing more.
create index delivery_error on rowpost.delivery (tenantid, deliveryid) where error_code is not null;
create table rowpost.delivery_default partition of rowpost.delivery default;

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
  -- of the attempt
  carrier text,
  primary key (tenantid, deliveryid, createtime)
) partition by range (createtime);
create table rowpost.delivery_start_default partition of rowpost.delivery_start default;

-- Attempts, one row each, written when the outcome is known.
create table rowpost.email_attempt (
  tenantid int not null,
  deliveryid bigint not null,
  attempt int not null,
  started timestamptz not null,
  finished timestamptz not null,
  outcome text not null check (outcome in
    ('sent', 'rejected', 'failed', 'retry', 'ambiguous', 'paused', 'rate_limited', 'redriven')),
  http_status int,
  error text,
  -- of the delivery
  createtime timestamptz not null,
  provider_message_id text,
  carrier text,
  primary key (tenantid, deliveryid, attempt, createtime)
) partition by range (createtime);
create table rowpost.email_attempt_default partition of rowpost.email_attempt default;

-- Every delivery as it is. What its start and its attempt say is looked up row by row, and only for the columns that a
-- statement reads. Joined, with a plan that can't know that both lie in the delivery's partition, a page of a list would
-- read all starts and attempts of all days: 0.5 s among a million deliveries.
create view rowpost.email_delivery as
  select d.tenantid, d.deliveryid, d.eventid, d.ruleid, d.email_type, d.operation, d.target, d.key, d.delivery,
    case
      when d.tracked then d.state
      when (select a.attempt from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime) is not null then 'sent'
      when (select s.deliveryid from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime) is not null then 'sending'
      else d.state
    end as state,
    case
      when d.tracked or (select a.attempt from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime) is null then d.attempts
      else 1
    end as attempts,
    case
      when d.tracked or d.recipients is not null then d.recipients
      else (select s.recipients from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime)
    end as recipients,
    case
      when d.tracked or d.subject is not null then d.subject
      else (select s.subject from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime)
    end as subject,
    case
      when d.tracked or d.provider_message_id is not null then d.provider_message_id
      else (select a.provider_message_id from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime)
    end as provider_message_id,
    d.error_code, d.error, d.createtime, d.next_attempt,
    case
      when d.tracked or d.sent_time is not null then d.sent_time
      else (select a.finished from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime)
    end as sent_time,
    case
      when d.tracked or (select s.deliveryid from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime) is null then d.starts
      else 1
    end as starts,
    case
      when d.tracked then d.due
      else (select s.leased_until from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime)
    end as due
  from rowpost.delivery d;

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

-- How often a rule fired for a record in a minute.
create table rowpost.rule_firing (
  -- the minute, by the events' own time
  createtime timestamptz not null,
  ruleid bigint not null,
  -- hash of table and key
  record bigint not null,
  fired int not null,
  -- more often than it may
  tripped boolean not null default false,
  primary key (createtime, ruleid, record)
) partition by range (createtime);
create index rule_firing_tripped on rowpost.rule_firing (createtime) where tripped;
create table rowpost.rule_firing_default partition of rowpost.rule_firing default;

-- What searches of a delivery's recipients look at: "Ada <ada@example.com>" is found by its address as well. Without a
-- setting of its own it is made part of the statement that calls it, and without a regular expression it takes half the
-- time: a search looks at thousands of deliveries.
create function rowpost.recipient_texts(recipients text[]) returns text[]
  language sql immutable strict parallel safe
return recipients || array(
  select address from unnest(recipients) as r(recipient),
    lateral (select case when recipient like '%>' then split_part(rtrim(recipient, '>'), '<', -1) else recipient end) as a(bare),
    lateral (values (bare), (lower(bare))) as v(address)
  where address <> recipient);

-- What a carrier reports of a delivery. It reports again and again, for a day and in any order.
create table rowpost.email_event (
  tenantid int not null,
  deliveryid bigint not null,
  -- the carrier's own name of the event
  provider_event_id text not null,
  event text not null,
  -- when it happened, as the carrier says
  time timestamptz not null,
  recipient text,
  reason text,
  status text,
  -- of a bounce: bounce (for good) or blocked (this time)
  type text,
  url text,
  received timestamptz not null default now(),
  -- of the delivery
  createtime timestamptz not null,
  primary key (tenantid, deliveryid, provider_event_id, createtime)
) partition by range (createtime);
create table rowpost.email_event_default partition of rowpost.email_event default;

-- The email of each attempt as it was handed to the carrier, for KEEP_EMAIL_DAYS.
create table rowpost.sent_mail (
  tenantid int not null,
  deliveryid bigint not null,
  attempt int not null,
  -- compressed, then encrypted with SECRET_KEYS
  email bytea not null,
  -- of the delivery
  createtime timestamptz not null,
  primary key (tenantid, deliveryid, attempt, createtime)
) partition by range (createtime);
-- Encrypted bytes don't compress.
alter table rowpost.sent_mail alter column email set storage external;
create table rowpost.sent_mail_default partition of rowpost.sent_mail default;

-- Emails kept locally instead of sent.
create table rowpost.mailbox (
  mailid bigint generated always as identity primary key,
  tenantid int not null references rowpost.tenant on delete cascade,
  -- null for a test email, which belongs to no delivery
  deliveryid bigint,
  time timestamptz not null default now(),
  sender text not null,
  recipients text[] not null,
  cc text[] not null,
  bcc text[] not null,
  reply_to text[] not null default '{}',
  subject text not null,
  html text not null,
  text text,
  headers jsonb not null default '{}',
  categories text[] not null default '{}',
  -- names, types and sizes
  attachments json not null default '[]',
  unique (tenantid, deliveryid)
);
create index mailbox_time on rowpost.mailbox (time);
