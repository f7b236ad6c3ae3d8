// Deliveries and reports are found by tenant and id. In a partition without statistics, as each new day's, PostgreSQL takes any index that
// begins with the tenant for as good as the primary key: with the others it read all the tenant's rows of the day, for each row.

export async function up(knex) {
  await knex.raw(`
    drop index rowpost.delivery_type;
    create index delivery_type on rowpost.delivery (email_type, tenantid, deliveryid, createtime);
    drop index rowpost.email_event_kind;
    create index email_event_kind on rowpost.email_event (event, tenantid, deliveryid, createtime);
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
