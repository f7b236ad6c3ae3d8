// The roles of a tenant are a tree: no role is above itself, and there are at most 100 levels.

export async function up(knex) {
  await knex.raw(`
    -- Roles that don't lead to the tenant's root, such as those in a loop, are placed below it.
    update rowpost.role r set parentid = null from rowpost.tenant t
      where t.root_roleid = r.roleid and r.parentid is not null;
    with recursive tree(tenantid, roleid) as (
      select tenantid, roleid from rowpost.role where parentid is null
      union select r.tenantid, r.roleid from rowpost.role r join tree t on (r.tenantid, r.parentid) = (t.tenantid, t.roleid)
    )
    update rowpost.role r set parentid = t.root_roleid from rowpost.tenant t
      where t.tenantid = r.tenantid and r.roleid not in (select roleid from tree);

    create function rowpost.check_role_tree() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    declare
      ancestor int := new.parentid;
      levels int := 0;
    begin
      -- An older snapshot would not show what another transaction moved meanwhile.
      if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'roles are moved in transactions that read what is committed'
          using errcode = 'feature_not_supported';
      end if;
      -- Moves of a tenant's roles wait for each other here.
      perform from rowpost.tenant where tenantid = new.tenantid for no key update;
      while ancestor is not null loop
        levels := levels + 1;
        if ancestor = new.roleid or levels > 100 then
          raise exception 'role % is above itself, or has more than 100 above it', new.roleid
            using errcode = 'check_violation', constraint = 'role_tree';
        end if;
        select parentid into ancestor from rowpost.role where roleid = ancestor;
      end loop;
      if exists (
        with recursive below(roleid, level) as (
          select new.roleid, levels
          union select r.roleid, b.level + 1 from rowpost.role r join below b on r.parentid = b.roleid
            where b.level <= 100
        ) select from below where level > 100
      ) then
        raise exception 'a role below % would have more than 100 above it', new.roleid
          using errcode = 'check_violation', constraint = 'role_tree';
      end if;
      return null;
    end $$;
    -- After the statement, which may place several roles.
    create constraint trigger role_tree after insert or update of parentid on rowpost.role
      for each row when (new.parentid is not null) execute function rowpost.check_role_tree();
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
