// Where a relay that starts begins to look for open batches, so that it need not read all that are kept.

export async function up(knex) {
  await knex.raw(`
    -- Every batch below is done. Rows are inserted, never updated.
    create table rowpost.relay_batch_mark (
      markid bigint generated always as identity primary key,
      batchid bigint not null,
      time timestamptz not null default now()
    );
    insert into rowpost.relay_batch_mark (batchid) values (0);
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
