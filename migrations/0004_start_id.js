// Who began an attempt: a UUID of the attempt's own. If the response to its start is lost, the worker asks again, and recognizes it.
export async function up(knex) {
  await knex.raw(`
    -- of the first attempt
    alter table rowpost.delivery_start add column start_id uuid;
    -- of the newest attempt
    alter table rowpost.delivery add column start_id uuid;
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
