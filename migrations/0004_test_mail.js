// Test mails are kept in the local mailbox too, and belong to no delivery.

export async function up(knex) {
  await knex.raw('alter table rowpost.mailbox alter column deliveryid drop not null');
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
