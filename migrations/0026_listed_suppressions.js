// Whether a tenant has suppressed addresses is read with each of its deliveries. Those taken off the list stay for days, and there may be
// a million of them: they would be read each time.

export async function up(knex) {
  await knex.raw(`
    create index email_suppression_listed on rowpost.email_suppression (tenantid) where removetime is null;
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
