// Those who answer for emails that did not arrive need not be admins.

export async function up(knex) {
  await knex.raw(`
    insert into rowpost.capability (capability, package, subset, description)
    values ('view_delivery', 'email', 'delivery', 'See what was sent, and why something was not.')
    on conflict do nothing;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
