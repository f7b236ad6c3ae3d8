// How much carriers report of a tenant in a day: who holds the secret of a webhook can report as much as it likes.

export async function up(knex) {
  await knex.raw(`
    create table rowpost.email_event_quota (
      tenantid int not null references rowpost.tenant on delete cascade,
      -- in UTC
      day date not null,
      -- of the events that were recorded, and of those that came again
      bytes bigint not null,
      primary key (tenantid, day)
    );
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
