import type { Pool } from 'pg';

/**
 * @returns what keeps the service from setting up the database, one sentence each: privileges that its role lacks, and an
 *   encoding that can't store every text; empty if nothing
 */
export async function missingRights(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ sentence: string }>(MISSING_RIGHTS_SQL);
  return rows.map(({ sentence }) => sentence);
}

const MISSING_RIGHTS_SQL = `
  with own as (
    select oid, rolname as role, rolcreaterole or rolsuper as creates, rolinherit or rolsuper as inherits
    from pg_catalog.pg_roles where rolname = current_user
  ), schema as (
    select n.oid, n.nspname as schema, r.rolname as owner, r.rolsuper as is_super, pg_has_role(r.oid, 'usage') as is_member
    from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
    where n.nspname in ('rowpost', 'rowpost_tenant')
  ), missing as (
    -- Until the first release, which would fail halfway.
    select 1 as place, '' as name, format(
      'The encoding of the database is %s: Rowpost needs UTF8, dump and restore it into such a database', e.name) as sentence
    from current_setting('server_encoding') e(name)
    where e.name <> 'UTF8' and not exists (select from schema where schema = 'rowpost')
    union all
    select 2, '', format('The database role "%1$s" makes one role per tenant: alter role "%1$s" createrole', role)
    from own where not creates
    union all
    select 3, '', format(
      'The database role "%1$s" needs the rights of the roles that it makes: alter role "%1$s" inherit', role)
    from own where not inherits
    union all
    select 4, '', format('The database role "%1$s" makes schemas: grant create on database "%2$s" to "%1$s"',
      role, current_database())
    from own where not has_database_privilege(current_database(), 'CREATE')
    union all
    -- To be a member of the owner's role is not enough: the service is one of those whose schemas it serves.
    select 5, schema, format('The schema "%s" belongs to "%s": connect as that role, or restore the dump as "%s", with pg_restore --no-owner',
      schema, owner, role)
    from schema, own where not is_member or owner <> role and not is_super
    union all
    -- Also an owner may have lost them.
    select 6, schema, format('The database role "%1$s" lacks rights on its schema: grant %2$s on schema "%3$s" to "%1$s"',
      role, string_agg(lower(privilege), ', ' order by privilege), schema)
    from schema, own, unnest(array['USAGE', 'CREATE']) privilege
    where is_member and not has_schema_privilege(schema.oid, privilege) group by schema, role
    union all
    select 7, r.rolname, format('The role "%s" owns %s %s of the schema "rowpost", such as "%s": alter table ... owner to "%s"',
      r.rolname, count(*), case count(*) when 1 then 'table' else 'tables' end, min(c.relname), role)
    from own, schema s join pg_catalog.pg_class c on c.relnamespace = s.oid join pg_catalog.pg_roles r on r.oid = c.relowner
    where s.schema = 'rowpost' and s.is_member and c.relkind in ('r', 'p') and not pg_has_role(c.relowner, 'usage')
    group by r.rolname, role
  )
  select sentence from missing order by place, name`;

/** Roles of PostgreSQL whose members pass its permissions, or leave the database. */
const POWERFUL_ROLES = [
  'pg_execute_server_program',
  'pg_read_all_data',
  'pg_read_server_files',
  'pg_write_all_data',
  'pg_write_server_files',
];

/** What the service's role may do beyond what it needs, so that a mistake of the service, or who has its password, could do it. */
export async function excessRights(
  pool: Pool,
): Promise<{ readonly role: string; readonly rights: readonly string[] }> {
  const { rows } = await pool.query<{ role: string; rights: string[] }>(
    `select rolname as role, array_remove(array[
         case when rolsuper then 'SUPERUSER' end, case when rolbypassrls then 'BYPASSRLS' end,
         case when rolreplication then 'REPLICATION' end], null)
       || array(select p.rolname::text from pg_catalog.pg_roles p
           where p.rolname = any ($1) and not r.rolsuper and pg_has_role(r.oid, p.oid, 'member') order by p.rolname) as rights
     from pg_catalog.pg_roles r where rolname = current_user`,
    [POWERFUL_ROLES],
  );
  return rows[0] ?? { role: '', rights: [] };
}
