// The recipients of deliveries that are there already. A migration of its own: it takes a while, in which nothing is locked.

export async function up(knex) {
  await knex.raw(`
    set local statement_timeout = 0;
    insert into rowpost.email_recipient (tenantid, address, deliveryid, createtime)
    select tenantid, rowpost.address_of(recipient), deliveryid, createtime
    from rowpost.delivery_start, unnest(coalesce(intended, recipients)) recipient where recipient is not null
    on conflict do nothing;
    insert into rowpost.email_recipient (tenantid, address, deliveryid, createtime)
    select tenantid, rowpost.address_of(recipient), deliveryid, createtime
    from rowpost.delivery, unnest(coalesce(intended, recipients)) recipient where recipient is not null
    on conflict do nothing;
    -- Before there was \`intended\`, only the error named those of a suppressed email: "…: ada@example.com (its email bounced), … and 2 more".
    insert into rowpost.email_recipient (tenantid, address, deliveryid, createtime)
    select tenantid, rowpost.address_of(regexp_replace(recipient, ' (\\(.*|and [0-9]+ more)$', '')), deliveryid, createtime
    from rowpost.delivery, regexp_split_to_table(substring(error from ': (.*)$'), ', ') recipient
    where error_code in ('SUPPRESSED', 'UNSUBSCRIBED') and intended is null and recipients is null
    on conflict do nothing;
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
