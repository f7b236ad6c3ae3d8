import type { Pool } from 'pg';

/**
 * @returns what keeps the service from setting up the database, one sentence each: privileges that its role lacks, and an
 *   encoding that can't store every text; empty if nothing
 */
export async function missingRights(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ role: string; createrole: boolean; create: boolean; database: string }>(
    `select current_user as role, rolcreaterole or rolsuper as createrole, current_database() as database,
       has_database_privilege(current_database(), 'CREATE') as create
     from pg_catalog.pg_roles where rolname = current_user`,
  );
  const foreign = await pool.query<{ schema: string; owner: string; role: string }>(
    `select nspname as schema, pg_catalog.pg_get_userbyid(nspowner) as owner, current_user as role
     from pg_catalog.pg_namespace where nspname in ('rowpost', 'rowpost_tenant') and not pg_has_role(nspowner, 'usage')
     order by nspname`,
  );
  // Until the first release, which would fail halfway.
  const encoding = await pool.query<{ encoding: string }>(
    `select current_setting('server_encoding') as encoding
     where current_setting('server_encoding') not in ('UTF8', 'SQL_ASCII') and to_regclass('rowpost.migration') is null`,
  );
  const rights = rows.flatMap(({ role, createrole, create, database }) => [
    ...(createrole
      ? []
      : [`The database role "${role}" makes one role per tenant: alter role "${role}" createrole`]),
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
        `The schema "${schema}" belongs to "${owner}": restore the dump as "${role}", with pg_restore --no-owner`,
    ),
  ];
}
