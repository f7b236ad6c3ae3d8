// Tenants with very many audit and sign-in events can be deleted: the relay deletes those, in parts. And to note refused sign-ins,
// those of all tenants together, waits for no tenant that is being deleted.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.audit_event
      drop constraint audit_event_tenantid_fkey,
      -- Roles are deleted with their tenant only.
      drop constraint audit_event_tenantid_roleid_fkey;
    alter table rowpost.sign_in_event
      drop constraint sign_in_event_tenantid_fkey,
      drop constraint sign_in_event_tenantid_roleid_fkey;
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
