// Roles that a sign-in through an identity provider makes, and the classes that come from a person's groups there.

export async function up(knex) {
  await knex.raw(`
    -- How the sign-ins through a configuration make roles. No row: they make none.
    create table rowpost.oidc_provisioning (
      confid int primary key,
      tenantid int not null,
      -- above the roles that are made; its rights bound theirs
      parentid int not null,
      capabilities text[] not null default '{login}',
      classes int[] not null default '{}',
      -- templates over the claims
      name text,
      login text,
      scope text,
      email_domains text[] not null default '{}',
      required_claim text,
      required_value text,
      seats int check (seats > 0),
      link_by_email boolean not null default false,
      groups_claim text,
      creatorid int,
      createtime timestamptz not null default now(),
      foreign key (tenantid, confid) references rowpost.oidc_config (tenantid, confid) on delete cascade,
      foreign key (tenantid, parentid) references rowpost.role (tenantid, roleid) on delete cascade
    );
    -- for foreign keys that keep tenants apart
    alter table rowpost.role_class add unique (tenantid, classid);
    alter table rowpost.role_oidc add unique (tenantid, roleid, confid);
    -- Which group at the identity provider is which class.
    create table rowpost.oidc_group_class (
      confid int not null,
      group_name text not null check (group_name <> ''),
      classid int not null,
      tenantid int not null,
      creatorid int,
      createtime timestamptz not null default now(),
      primary key (confid, group_name, classid),
      foreign key (tenantid, confid) references rowpost.oidc_config (tenantid, confid) on delete cascade,
      foreign key (tenantid, classid) references rowpost.role_class (tenantid, classid) on delete cascade
    );
    create index oidc_group_class_class on rowpost.oidc_group_class (tenantid, classid);
    -- Classes that a role is in because of its groups: those given by hand have no row.
    create table rowpost.role_oidc_class (
      roleid int not null,
      confid int not null,
      classid int not null,
      tenantid int not null,
      primary key (roleid, confid, classid),
      foreign key (tenantid, roleid, confid) references rowpost.role_oidc (tenantid, roleid, confid) on delete cascade,
      foreign key (tenantid, classid) references rowpost.role_class (tenantid, classid) on delete cascade
    );
    create index role_oidc_class_class on rowpost.role_oidc_class (tenantid, classid);
    create index role_oidc_identity on rowpost.role_oidc (confid, sub_id);

    -- Without its mapping, or a group of it, a role is no longer in the class.
    create function rowpost.leave_group_class() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      update rowpost.role r set classes = array_remove(r.classes, old.classid)
        where r.tenantid = old.tenantid and r.roleid = old.roleid and old.classid = any (r.classes)
          and not exists (
            select from rowpost.role_oidc_class c where c.roleid = old.roleid and c.classid = old.classid);
      return null;
    end $$;
    revoke all on function rowpost.leave_group_class from public;
    create trigger leave_group_class after delete on rowpost.role_oidc_class
      for each row execute function rowpost.leave_group_class();

    -- A sign-in that finds its role by the identity.
    alter table rowpost.oidc_sign_in
      alter column roleid drop not null,
      alter column tokens_valid_from_ms drop not null;
    -- Those have no role whose sessions end when the configuration or the identity provider changes.
    create function rowpost.end_sign_ins() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      if tg_table_name = 'oidc_config' then
        delete from rowpost.oidc_sign_in s where s.confid = new.confid;
      else
        delete from rowpost.oidc_sign_in s using rowpost.oidc_config c
          where c.confid = s.confid and c.providerid = new.providerid;
      end if;
      return null;
    end $$;
    revoke all on function rowpost.end_sign_ins from public;
    create trigger end_sign_ins after update on rowpost.oidc_config
      for each row when ((new.providerid, new.client_id) is distinct from (old.providerid, old.client_id))
      execute function rowpost.end_sign_ins();
    create trigger end_sign_ins after update on rowpost.oidc_providers
      for each row when (
        (new.auth_uri, new.token_uri, new.jwks_uri, new.issuer, new.comparison_field, new.email_always_verified)
        is distinct from
        (old.auth_uri, old.token_uri, old.jwks_uri, old.issuer, old.comparison_field, old.email_always_verified))
      execute function rowpost.end_sign_ins();
  `);
}

// Required by knex. Migrations go forward only: an error is corrected by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
