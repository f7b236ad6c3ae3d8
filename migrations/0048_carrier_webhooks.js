// Webhooks of carriers other than SendGrid, whose reports are verified by a secret that is shared with the tenant.

export async function up(knex) {
  await knex.raw(`
    create table rowpost.carrier_webhook (
      tenantid int not null references rowpost.tenant on delete cascade,
      -- postmark, resend, mailgun or ses
      kind text not null,
      -- what reports are verified with, encrypted
      secret_encrypted text not null,
      set_by int,
      set_time timestamptz not null default now(),
      primary key (tenantid, kind)
    );

    -- Signatures of Mailgun that were used: they do not cover the report, so that each is good for one report only.
    create table rowpost.webhook_token (
      tenantid int not null references rowpost.tenant on delete cascade,
      -- hash of the token
      token text not null,
      -- hash of the report
      report text not null,
      createtime timestamptz not null default now(),
      primary key (tenantid, token)
    );
    create index webhook_token_createtime on rowpost.webhook_token (createtime);
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
