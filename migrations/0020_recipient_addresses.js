// What searches of a delivery's recipients look at: "Ada <ada@example.com>" is found by its address as well.

export async function up(knex) {
  await knex.raw(`
    create function rowpost.recipient_texts(recipients text[]) returns text[]
      language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp
    return recipients || array(
      select address from unnest(recipients) as r(recipient),
        lateral (select coalesce(substring(recipient from '<([^<>]+)>[[:space:]]*$'), recipient)) as a(bare),
        lateral (values (bare), (lower(bare))) as v(address)
      where address <> recipient);
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
