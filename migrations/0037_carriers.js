// Carriers: what a tenant sends by instead of SendGrid, and which one each attempt was made with.

export async function up(knex) {
  await knex.raw(`
    -- JSON of the tenant's transports, first to last, encrypted; null: SendGrid, with the key beside. A tenant that has
    -- transports and no key has the empty text for its key: no release before reads that, so their workers leave the mail
    -- to those of this one.
    alter table rowpost.email_apikey add column transports_encrypted text;

    -- The carrier of the attempt; null before there was more than one.
    alter table rowpost.delivery_start add column carrier text;
    -- Of the newest attempt.
    alter table rowpost.delivery add column carrier text;
    alter table rowpost.email_attempt add column carrier text;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
