// What people may do without being administrators, classes that give it, and invitations to choose a password.

export async function up(knex) {
  await knex.raw(`
    insert into rowpost.capability (capability, package, subset, description) values
      ('repair_delivery', 'email', 'delivery', 'Resend deliveries that one may see, and say which addresses are suppressed.'),
      ('edit_email', 'email', 'wording', 'Change the wording of emails, and preview them with rows that one may read.');

    alter table rowpost.role_class
      -- what its members may do besides: nothing that is about signing in, roles or rows
      add column capabilities text[] not null default '{}'
        check (capabilities <@ '{view_delivery,repair_delivery,edit_email}'),
      -- anyone may join such a class
      add check (not allow_signup or capabilities = '{}');
    -- Read with each role.
    create index role_class_capabilities on rowpost.role_class (tenantid) where capabilities <> '{}';

    create or replace view rowpost.role_class_shown as
      select c.classid, c.tenantid, c.name, c.inherit, c.creatorid, c.createtime,
        coalesce((select array_agg(r.roleid order by r.roleid) from rowpost.role r
          where r.tenantid = c.tenantid and not r.deleted and c.classid = any (r.classes)), '{}') as members,
        c.allow_signup, c.capabilities
      from rowpost.role_class c;

    -- Links by which people choose the password of their role, one for each role.
    create table rowpost.invitation (
      roleid int primary key,
      tenantid int not null,
      -- SHA-256 of what is secret in the link, which is nowhere
      link_hash bytea not null unique check (length(link_hash) = 32),
      -- role.tokens_valid_from, in milliseconds: it ends with that state of the role
      state_ms float8 not null,
      expires timestamptz not null,
      creatorid int,
      createtime timestamptz not null default now(),
      foreign key (tenantid, roleid) references rowpost.role (tenantid, roleid) on delete cascade
    );
    create index invitation_tenant on rowpost.invitation (tenantid);
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
