// What names an event stays short, whoever writes it: a tenant's code may write events of its own, and keys are copied to
// deliveries, answered and logged.

export async function up(knex) {
  // Not checked on what is there: that would read every event while nobody may write one.
  await knex.raw(`
    alter table rowpost.outbox add constraint outbox_names_are_short check (
      octet_length(operation) <= 100 and octet_length(target) <= 1000 and octet_length(key::text) <= 1048576
    ) not valid;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
