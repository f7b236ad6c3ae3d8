// Whose login finds a role at a sign-in through an identity provider, and leaving many classes at once.

export async function up(knex) {
  await knex.raw(`
    -- The login as root or an admin gave it last. A role may change its own, and releases before this column leave it as it was, so
    -- it counts while both are the same.
    alter table rowpost.role add admin_login text;
    -- The case of ASCII doesn't matter. Beyond it, two addresses may be one login, but are not one person.
    create index role_admin_login on rowpost.role (tenantid, (lower(admin_login collate "C"))) where admin_login is not null;

    -- Once for all rows of a statement: somebody may have left thousands of groups, and each time the role's classes are written.
    drop trigger leave_group_class on rowpost.role_oidc_class;
    create or replace function rowpost.leave_group_class() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      update rowpost.role r set classes = array(
        select h.classid from unnest(r.classes) with ordinality h(classid, at)
        where h.classid not in (
          select l.classid from lost l where l.roleid = r.roleid
          except select c.classid from rowpost.role_oidc_class c where c.roleid = r.roleid)
        order by h.at)
      where r.roleid in (select l.roleid from lost l);
      return null;
    end $$;
    create trigger leave_group_class after delete on rowpost.role_oidc_class
      referencing old table as lost for each statement execute function rowpost.leave_group_class();
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
