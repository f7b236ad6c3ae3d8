import type { Pool } from 'pg';

/** @returns what the service's own database role must be given, one sentence each; empty when it lacks nothing. */
export async function missingRights(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ role: string; createrole: boolean; create: boolean; database: string }>(
    `select current_user as role, rolcreaterole or rolsuper as createrole, current_database() as database,
       has_database_privilege(current_database(), 'CREATE') as create
     from pg_catalog.pg_roles where rolname = current_user`,
  );
  return rows.flatMap(({ role, createrole, create, database }) => [
    ...(createrole
      ? []
      : [`The database role "${role}" makes one role per tenant: alter role "${role}" createrole`]),
    ...(create
      ? []
      : [`The database role "${role}" makes schemas: grant create on database "${database}" to "${role}"`]),
  ]);
}
