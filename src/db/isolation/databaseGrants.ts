import type { Pool, PoolClient } from 'pg';
import { readRoleNames, type RoleNames } from './roleNames.js';
import { ensureSharedRole } from './tenantRoles.js';
import { ownValue } from '../../foundation/ownValue.js';
import { empty, identifier, join, sql, statement, toText, type Sql } from '../sql/sql.js';
import { inTransaction } from '../pool/inTransaction.js';

/**
 * Creates the shared login, and revokes PUBLIC's privileges to connect to the database and to create temporary tables,
 * which every role of the cluster has by default, including tenants of other installations. Existing login roles keep both.
 * Idempotent.
 * @returns false if PUBLIC keeps them because the database has another owner. Being a member of that role changes nothing:
 *   an application's database also has to admit roles that are created later.
 */
export function revokePublicAccess(pool: Pool): Promise<boolean> {
  return inTransaction(pool, close);
}

/** The privileges that PUBLIC still has, as written in GRANT; empty once revoked. */
export async function publicPrivileges(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ privilege: string }>(toText(PUBLIC_PRIVILEGES));
  return rows.map(({ privilege }) => privilege);
}

/** The service's own login roles that may not connect to the database. */
export async function rolesThatMayNotConnect(
  runner: Pool | PoolClient,
  { shared, tenantPrefix }: RoleNames,
): Promise<readonly string[]> {
  const { rows } = await runner.query<{ name: string }>(
    `select rolname as name from pg_catalog.pg_roles
     where (starts_with(rolname, $1) or rolname = $2) and not has_database_privilege(oid, current_database(), 'connect')
     order by oid`,
    [tenantPrefix, shared],
  );
  return rows.map(({ name }) => name);
}

const PUBLIC_PRIVILEGES = sql`
  select lower(a.privilege_type) as privilege from pg_catalog.pg_database d,
    aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
  where d.datname = current_database() and a.grantee = 0 order by 1`;

async function close(client: PoolClient): Promise<boolean> {
  const names = await readRoleNames(client);
  await ensureSharedRole(client, names);
  const { rows } = await client.query<{
    database: string;
    is_own: boolean;
    may_grant: boolean;
    open: string[];
  }>(
    statement`select current_database() as database, pg_get_userbyid(datdba) = current_user as is_own,
       pg_has_role(current_user, datdba, 'usage') as may_grant,
       array(${PUBLIC_PRIVILEGES}) as open
     from pg_catalog.pg_database where datname = current_database()`,
  );
  const {
    database,
    is_own: isOwn,
    may_grant: mayGrant,
    open,
  } = rows[0] ?? { database: '', is_own: false, may_grant: false, open: [] };
  const target = sql`database ${identifier(database)}`;
  const privileges = join(open.map((name) => ownValue(PRIVILEGES, name) ?? empty));
  if (isOwn && open.length > 0) {
    const kept = await client.query<{ name: string }>(OTHER_LOGINS_SQL);
    for (const { name } of kept.rows) {
      await client.query(statement`grant ${privileges} on ${target} to ${identifier(name)}`);
    }
    await client.query(statement`revoke ${privileges} on ${target} from public`);
  }
  if (!mayGrant) return open.length === 0;
  const barred = await rolesThatMayNotConnect(client, names);
  for (const name of barred) await client.query(statement`grant connect on ${target} to ${identifier(name)}`);
  return isOwn || open.length === 0;
}

/** What PUBLIC may have, as GRANT writes it. */
const PRIVILEGES: Readonly<Record<string, Sql>> = {
  connect: sql`connect`,
  create: sql`create`,
  temporary: sql`temporary`,
};

/** Login roles other than tenants', which are recognized by name, here and in other installations. */
const OTHER_LOGINS_SQL = `
  select rolname as name from pg_catalog.pg_roles
  where rolcanlogin and not rolsuper and rolname !~ '^rowpost_[0-9]+_(shared|tenant_[0-9]+)$'`;
