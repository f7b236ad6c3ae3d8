// Ids that leave the database must never be given out twice. A sequence steps back with the database, when a backup is
// restored or a standby takes over that was behind; the clock does not.

export async function up(knex) {
  await knex.raw(`
    -- Milliseconds since September 2020, then twelve bits of a number that goes round. Exact in a double for 69 years, and
    -- above all ids of releases before this one.
    create sequence rowpost.delivery_number;
    alter table rowpost.delivery alter column deliveryid drop identity;
    alter table rowpost.delivery alter column deliveryid set default
      (extract(epoch from clock_timestamp()) * 1000 - 1600000000000)::bigint * 4096
        + (nextval('rowpost.delivery_number') & 4095);

    -- Plans are cached by it.
    alter table rowpost.tenant alter column policy_version
      set default (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
