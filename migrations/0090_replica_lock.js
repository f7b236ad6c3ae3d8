// A transaction on a replica that has switched to a tenant's role goes on after the shared login has lost the role on the primary. It
// has a lock that the revocation conflicts with: a replica replays that, and what comes after it, once the transaction has ended.

export async function up(knex) {
  await knex.raw(`
    -- Only to be locked. Not a table, because backups lock all tables for as long as they take.
    create view rowpost_tenant.replica_lock as select 1 as locked
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
