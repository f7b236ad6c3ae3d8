// The mail of each attempt as it was handed to the carrier, for KEEP_MAIL_DAYS.

export async function up(knex) {
  await knex.raw(`
    create table rowpost.sent_mail (
      tenantid int not null,
      deliveryid bigint not null,
      attempt int not null,
      -- compressed, then encrypted with SECRET_KEYS
      mail bytea not null,
      -- of the delivery
      createtime timestamptz not null,
      primary key (tenantid, deliveryid, attempt, createtime)
    ) partition by range (createtime);
    -- Encrypted bytes don't compress.
    alter table rowpost.sent_mail alter column mail set storage external;
    create table rowpost.sent_mail_default partition of rowpost.sent_mail default;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
