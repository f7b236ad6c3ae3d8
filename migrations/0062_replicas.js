// Replicas for reads: whose queries they serve, and how far they are behind.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.role add column read_replica boolean not null default false;
    -- Written every second where there are replicas: the newest one that a replica has tells how far it is behind.
    create table rowpost.replica_heartbeat (
      -- one row
      id boolean primary key default true check (id),
      time timestamptz not null default clock_timestamp()
    ) with (fillfactor = 10);
    insert into rowpost.replica_heartbeat default values
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
