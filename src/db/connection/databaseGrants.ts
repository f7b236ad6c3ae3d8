import type { Pool, PoolClient } from 'pg';
import { readRoleNames } from './roleNames.js';
import { ensureSharedRole } from './tenantRoles.js';
import { quoted } from '../sql.js';
import { inTransaction } from './inTransaction.js';

/**
 * Creates the shared login, and revokes PUBLIC's privileges to connect to the database and to create temporary tables,
 * which every role of the cluster has by default, including tenants of other installations. Existing login roles keep both.
 * Idempotent.
 * @returns false if the service may not do this, because the database has another owner
 */
export function revokePublicAccess(pool: Pool): Promise<boolean> {
  return inTransaction(pool, close);
}

/** The privileges that PUBLIC still has, as written in GRANT; empty once revoked. */
export async function publicPrivileges(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ privilege: string }>(PUBLIC_SQL);
  return rows.map(({ privilege }) => privilege);
}

const PUBLIC_SQL = `
  select lower(a.privilege_type) as privilege from pg_catalog.pg_database d,
    aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
  where d.datname = current_database() and a.grantee = 0 order by 1`;

async function close(client: PoolClient): Promise<boolean> {
  const names = await readRoleNames(client);
  await ensureSharedRole(client, names);
  const { rows } = await client.query<{ database: string; owner: boolean; open: string[] }>(
    `select current_database() as database, pg_has_role(current_user, datdba, 'usage') as owner,
       array(${PUBLIC_SQL.replace('privilege_type) as privilege', 'privilege_type)')}) as open
     from pg_catalog.pg_database where datname = current_database()`,
  );
  const { database, owner, open } = rows[0] ?? { database: '', owner: false, open: [] };
  if (!owner) return open.length === 0;
  const target = `database ${quoted(database)}`;
  if (open.length > 0) {
    const kept = await client.query<{ name: string }>(OTHER_LOGINS_SQL);
    for (const { name } of kept.rows) {
      await client.query(`grant ${open.join(', ')} on ${target} to ${quoted(name)}`);
    }
    await client.query(`revoke ${open.join(', ')} on ${target} from public`);
  }
  const own = await client.query<{ name: string }>(
    `select rolname as name from pg_catalog.pg_roles
     where starts_with(rolname, $1) and not has_database_privilege(oid, current_database(), 'connect')`,
    [names.tenantPrefix],
  );
  for (const { name } of own.rows) await client.query(`grant connect on ${target} to ${quoted(name)}`);
  return true;
}

/** Login roles other than tenants', which are recognised by name, here and in other installations. */
const OTHER_LOGINS_SQL = `
  select rolname as name from pg_catalog.pg_roles
  where rolcanlogin and not rolsuper and rolname !~ '^rowpost_[0-9]+_(shared|tenant_[0-9]+)$'`;
