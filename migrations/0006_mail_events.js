// What happens to mail after it was sent, addresses that get none any more, and the guards of the pipeline: how often
// a rule fires for a record, when a capped tenant may send next, which batches end their worker.

export async function up(knex) {
  await knex.raw(`
    -- The public key that the provider's event webhook is verified with.
    create table rowpost.email_webhook_key (
      tenantid int primary key references rowpost.tenant on delete cascade,
      -- DER of a SubjectPublicKeyInfo in base64
      verification_key text not null,
      set_by int,
      set_time timestamptz not null default now()
    );

    -- What the provider reports of a delivery. It reports again and again, for a day and in any order. A row lies in
    -- the partition of its delivery: so the key is unique over all partitions, for as long as the delivery is kept.
    create table rowpost.email_event (
      tenantid int not null,
      deliveryid bigint not null,
      -- the provider's own name of the event
      provider_event_id text not null,
      event text not null,
      -- when it happened, as the provider says
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

    -- Addresses that a tenant sends nothing to.
    create table rowpost.email_suppression (
      tenantid int not null references rowpost.tenant on delete cascade,
      -- in lower case
      address text not null,
      reason text,
      source text not null check (source in ('bounce', 'spamreport', 'manual')),
      -- the one whose event it was
      deliveryid bigint,
      creatorid int,
      createtime timestamptz not null default now(),
      -- When it was taken off the list. The row stays for a while: an event that happened before may still come.
      removetime timestamptz,
      primary key (tenantid, address)
    );
    create index email_suppression_removed on rowpost.email_suppression (removetime) where removetime is not null;

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

    -- When a tenant whose rate is capped may send its next email.
    create table rowpost.email_pace (
      tenantid int primary key references rowpost.tenant on delete cascade,
      next_slot timestamptz not null
    );

    -- Starts of a batch after an earlier worker ended with it, without a word.
    create table rowpost.relay_batch_start (
      batchid bigint not null,
      time timestamptz not null default now(),
      -- of the batch
      createtime timestamptz not null
    ) partition by range (createtime);
    create index on rowpost.relay_batch_start (batchid);
  `);

  // As for their neighbours: what no dated partition covers goes here.
  for (const table of ['email_event', 'rule_firing', 'relay_batch_start']) {
    await knex.raw(`create table rowpost.${table}_default partition of rowpost.${table} default`);
  }
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
