// What only checks of the service held, PostgreSQL holds too: no tenant has the schema of somebody else's tables, and a role, an
// email rule or a tenant refers to no role of another tenant.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.tenant add constraint tenant_schema_check
      check (schema !~* '^(pg_|rowpost)' and schema not in ('information_schema', 'bullmq'));
    alter table rowpost.role drop constraint role_parentid_fkey,
      add constraint role_parentid_fkey foreign key (tenantid, parentid) references rowpost.role (tenantid, roleid);
    alter table rowpost.email_rule drop constraint email_rule_query_roleid_fkey,
      add constraint email_rule_query_roleid_fkey foreign key (tenantid, query_roleid) references rowpost.role (tenantid, roleid);
    alter table rowpost.tenant drop constraint tenant_root_roleid_fkey,
      add constraint tenant_root_roleid_fkey foreign key (tenantid, root_roleid) references rowpost.role (tenantid, roleid)
        on delete set null (root_roleid) deferrable initially deferred;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
