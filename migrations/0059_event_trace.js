// The trace that an event's delivery continues, a W3C traceparent. A writer gives it by
// `set local rowpost.traceparent = '00-…'`; the API does for requests that it traces.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.outbox add column traceparent text
      default left(nullif(current_setting('rowpost.traceparent', true), ''), 55)
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
