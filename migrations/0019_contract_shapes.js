// What the objects of /roles_pbac show by contract: classes of a role and members of a class as objects, who set a
// password, the capabilities that are one subset; and classes that visitors may sign up into.

export async function up(knex) {
  await knex.raw(`
    update rowpost.capability set subset = 'crud' where capability in ('select', 'insert', 'update', 'delete');

    -- The role that set the password; null where that was before this column, or by the release before.
    alter table rowpost.role add column password_setby int;

    -- Whether visitors may put a role that they make for themselves into the class.
    alter table rowpost.role_class add column allow_signup boolean not null default false;

    create or replace view rowpost.role_class_shown as
      select c.classid, c.tenantid, c.name, c.inherit, c.creatorid, c.createtime,
        coalesce((select array_agg(r.roleid order by r.roleid) from rowpost.role r
          where r.tenantid = c.tenantid and not r.deleted and c.classid = any (r.classes)), '{}') as members,
        c.allow_signup
      from rowpost.role_class c;

    -- Who is in which class, as rows. A deleted role keeps its classes and is no member of them.
    create view rowpost.role_class_member as
      select r.tenantid, r.roleid, r.parentid, c.classid, case when not r.deleted then r.roleid end as memberid
      from rowpost.role r cross join unnest(r.classes) as c(classid);

    -- A login that is made by a visitor must not look like another.
    create index role_login_folded on rowpost.role (tenantid, lower(login)) where not deleted;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
