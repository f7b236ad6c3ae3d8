// Tenants with very many idempotency keys or suppressed addresses can be deleted: the relay deletes those, in parts.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.idempotency_key drop constraint idempotency_key_tenantid_fkey;
    alter table rowpost.email_suppression drop constraint email_suppression_tenantid_fkey;
    alter table rowpost.email_unsubscribe drop constraint email_unsubscribe_tenantid_fkey;
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
