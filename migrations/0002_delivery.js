// The record of delivery: the relay's cursor and batches, deliveries with their attempts, the local mailbox.
// All that grows is partitioned by day and leaves by dropping partitions.

export async function up(knex) {
  await knex.raw(`
    -- How far the relay has read the outbox: all events visible in the newest tick's snapshot are in batches
    -- (or matched no rule). Rows are inserted, never updated: a long read elsewhere would keep each old version alive.
    create table rowpost.relay_tick (
      tickid bigint generated always as identity primary key,
      -- the tick that this one continues: two can't continue the same one, whatever the locks say
      previous bigint not null unique,
      snapshot pg_snapshot not null,
      time timestamptz not null default now()
    );
    insert into rowpost.relay_tick (previous, snapshot) values (0, '3:3:');

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

    -- The batch's rules are evaluated and its deliveries are in the ledger.
    create table rowpost.relay_batch_done (
      batchid bigint not null,
      -- of the batch
      createtime timestamptz not null,
      time timestamptz not null default now(),
      primary key (batchid, createtime)
    ) partition by range (createtime);

    -- One event × one matching rule.
    create table rowpost.email_delivery (
      tenantid int not null,
      deliveryid bigint generated always as identity,
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
      -- Number of the newest attempt. It is the fencing token: who holds an older number changes nothing any more.
      starts int not null default 0,
      -- when the attempt in hand began to send
      started timestamptz,
      -- attempts in a row that ended with their process
      lost int not null default 0,
      -- When the reconciler looks at this delivery again: the lease's end while sending. Null when nobody need.
      due timestamptz,
      primary key (tenantid, deliveryid, createtime),
      unique (eventid, ruleid, createtime)
    ) partition by range (createtime);
    create index email_delivery_due on rowpost.email_delivery (due) where due is not null;
    create index email_delivery_paused on rowpost.email_delivery (tenantid) where state = 'paused';

    -- What was tried, one row per attempt, written when its outcome is known.
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
      primary key (tenantid, deliveryid, attempt, createtime)
    ) partition by range (createtime);

    -- Mail kept locally instead of sent.
    create table rowpost.mailbox (
      mailid bigint generated always as identity primary key,
      tenantid int not null references rowpost.tenant on delete cascade,
      deliveryid bigint not null,
      time timestamptz not null default now(),
      sender text not null,
      recipients text[] not null,
      cc text[] not null,
      bcc text[] not null,
      subject text not null,
      html text not null,
      unique (tenantid, deliveryid)
    );
    create index mailbox_time on rowpost.mailbox (time);

    -- until when the provider asked this tenant to wait
    alter table rowpost.email_apikey add column wait_until timestamptz;
  `);

  // The relay adds partitions days ahead; what arrives when it has been away for long goes to the default ones.
  for (const table of ['relay_batch', 'relay_batch_done', 'email_delivery', 'email_attempt']) {
    await knex.raw(`create table rowpost.${table}_default partition of rowpost.${table} default`);
  }
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
