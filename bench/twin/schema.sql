-- What the twin records. The shop's tables lie beside it and belong to twin_shop, under which the email's query runs.
create table outbox (
  id bigint generated always as identity primary key,
  xid xid8 not null default pg_current_xact_id(),
  created timestamptz not null default now(),
  row json not null
);
-- All transactions up to this snapshot have been read.
create table relay_cursor (seen pg_snapshot not null);
insert into relay_cursor values (pg_current_snapshot());
-- One email for each event and rule.
create table delivery (
  id bigint generated always as identity primary key,
  event bigint not null,
  rule int not null,
  created timestamptz not null default now(),
  unique (event, rule)
);
-- An attempt, committed before the call of the carrier, and its end.
create table attempt_start (
  delivery bigint,
  attempt int,
  leased_until timestamptz not null,
  recipients text[] not null,
  subject text not null,
  primary key (delivery, attempt)
);
create table attempt_end (
  delivery bigint,
  attempt int,
  outcome text not null check (outcome in ('sent', 'rejected', 'retry', 'ambiguous')),
  http_status int,
  message_id text,
  finished timestamptz not null default now(),
  primary key (delivery, attempt)
);
