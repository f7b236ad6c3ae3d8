// How often an address and a login tried to sign in, counted for all web processes. Unlogged: a crash of PostgreSQL
// forgets the counts, and nothing else is lost.

export async function up(knex) {
  await knex.raw(`
    create unlogged table rowpost.sign_in_count (
      -- a hash: of one size, whatever was sent as a login
      key bytea primary key check (length(key) = 32),
      count int not null,
      expires timestamptz not null
    ) with (fillfactor = 70);
    create index sign_in_count_expires on rowpost.sign_in_count (expires);
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
