import type { Pool } from 'pg';

/**
 * @returns what keeps the service from setting up the database, one sentence each: privileges that its role lacks, and an
 *   encoding that can't store every text; empty if nothing
 */
export async function missingRights(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{
    role: string;
    createrole: boolean;
    inherits: boolean;
    create: boolean;
    database: string;
  }>(
    `select current_user as role, rolcreaterole or rolsuper as createrole, rolinherit or rolsuper as inherits,
       current_database() as database,
       has_database_privilege(current_database(), 'CREATE') as create
     from pg_catalog.pg_roles where rolname = current_user`,
  );
  // To be a member of the owner's role is not enough: the service is one of those whose schemas it serves.
  const foreign = await pool.query<{ schema: string; owner: string; role: string }>(
    `select n.nspname as schema, r.rolname as owner, current_user as role
     from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
     where n.nspname in ('rowpost', 'rowpost_tenant')
       and (not pg_has_role(r.oid, 'usage') or r.rolname <> current_user and not r.rolsuper)
     order by n.nspname`,
  );
  // Until the first release, which would fail halfway.
  const encoding = await pool.query<{ encoding: string }>(
    `select current_setting('server_encoding') as encoding
     where current_setting('server_encoding') not in ('UTF8', 'SQL_ASCII')
       and not exists (select from pg_catalog.pg_namespace where nspname = 'rowpost')`,
  );
  // Also an owner may have lost them.
  const closed = await pool.query<{ schema: string; role: string; lacking: string }>(
    `select n.nspname as schema, current_user as role, string_agg(lower(privilege), ', ' order by privilege) as lacking
     from pg_catalog.pg_namespace n, unnest(array['USAGE', 'CREATE']) privilege
     where n.nspname in ('rowpost', 'rowpost_tenant') and pg_has_role(n.nspowner, 'usage')
       and not has_schema_privilege(n.oid, privilege)
     group by n.nspname order by n.nspname`,
  );
  const tables = await pool.query<{ owner: string; role: string; count: number; first: string }>(
    `select r.rolname as owner, current_user as role, count(*)::int as count, min(c.relname) as first
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       join pg_catalog.pg_roles r on r.oid = c.relowner
     where n.nspname = 'rowpost' and c.relkind in ('r', 'p') and pg_has_role(n.nspowner, 'usage')
       and not pg_has_role(c.relowner, 'usage')
     group by r.rolname order by r.rolname`,
  );
  const rights = rows.flatMap(({ role, createrole, inherits, create, database }) => [
    ...(createrole
      ? []
      : [`The database role "${role}" makes one role per tenant: alter role "${role}" createrole`]),
    ...(inherits
      ? []
      : [
          `The database role "${role}" needs the rights of the roles that it makes: alter role "${role}" inherit`,
        ]),
    ...(create
      ? []
      : [`The database role "${role}" makes schemas: grant create on database "${database}" to "${role}"`]),
  ]);
  return [
    ...encoding.rows.map(
      ({ encoding: found }) =>
        `The encoding of the database is ${found}: Rowpost needs UTF8, dump and restore it into such a database`,
    ),
    ...rights,
    ...foreign.rows.map(
      ({ schema, owner, role }) =>
        `The schema "${schema}" belongs to "${owner}": connect as that role, or restore the dump as "${role}", with pg_restore --no-owner`,
    ),
    ...closed.rows.map(
      ({ schema, role, lacking }) =>
        `The database role "${role}" lacks rights on its schema: grant ${lacking} on schema "${schema}" to "${role}"`,
    ),
    ...tables.rows.map(
      ({ owner, role, count, first }) =>
        `The role "${owner}" owns ${count} ${count === 1 ? 'table' : 'tables'} of the schema "rowpost", such as "${first}": alter table … owner to "${role}"`,
    ),
  ];
}

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
