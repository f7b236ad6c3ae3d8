-- Requests with an Idempotency-Key: their first response is kept with what they changed, in one transaction.

create table rowpost.idempotency_key (
  tenantid int not null references rowpost.tenant on delete cascade,
  roleid int not null,
  -- tells anonymous clients apart, who are one role; empty for others
  client text not null default '' check (octet_length(client) <= 64),
  key text not null check (octet_length(key) between 1 and 1020),
  request_hash bytea not null,
  -- Null in the transaction that makes the row, and if the response was not kept because of a quota.
  response text,
  -- of the response
  bytes int not null default 0,
  createtime timestamptz not null default now(),
  primary key (tenantid, roleid, client, key)
);
create index on rowpost.idempotency_key (createtime);
-- Smaller responses take no more than the rows and events that come with them, and are always kept.
create index on rowpost.idempotency_key (tenantid) include (roleid, client, bytes) where bytes > 4096;
