// The console lists and counts what was not sent. Deliveries that went well have no error code, so they are not in it, and
// neither inserting nor sending them costs more.

export async function up(knex) {
  await knex.raw(`
    create index delivery_error on rowpost.delivery (tenantid, deliveryid) where error_code is not null;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
