import type { Pool } from 'pg';
import { statement } from '../sql/sql.js';
import type { RoleNames } from './roleNames.js';
import { PLAIN_SCHEMA_VERSION } from './plainSchema.js';

/**
 * The decision recorded for this fingerprint of the schema, if PostgreSQL's roles are still in the state it left them in.
 * @returns undefined if it has to be decided again. Throws what pg throws.
 */
export async function readGrantState(
  pool: Pool,
  names: RoleNames,
  tenantid: number,
  fingerprint: string,
): Promise<'shared' | 'own' | undefined> {
  const { rows } = await pool.query<{ has_code: boolean; is_member: boolean }>({
    name: 'rowpost_settled_access',
    text: SETTLED_SQL,
    values: [tenantid, versioned(fingerprint), names.shared, names.tenant(tenantid)],
  });
  const [row] = rows;
  if (!row || row.has_code === row.is_member) return undefined;
  return row.has_code ? 'own' : 'shared';
}

/** Does nothing while another session holds the lock to change the schema. Throws what pg throws. */
export async function recordSettledAccess(
  pool: Pool,
  tenantid: number,
  fingerprint: string,
  access: 'shared' | 'own',
): Promise<void> {
  await pool.query(
    `update rowpost.tenant_access set fingerprint = $2, has_code = $3
     where tenantid in (select tenantid from rowpost.tenant_access where tenantid = $1 for update skip locked)`,
    [tenantid, versioned(fingerprint), access === 'own'],
  );
}

function versioned(fingerprint: string): string {
  return `${PLAIN_SCHEMA_VERSION}.${fingerprint}`;
}

// A copy of the database has the same fingerprints, but none of the roles.
const SETTLED_SQL = statement`
select a.has_code, exists (select from pg_catalog.pg_auth_members m where m.roleid = t.oid and m.member = s.oid) as is_member
from rowpost.tenant_access a, pg_catalog.pg_roles s, pg_catalog.pg_roles t
where a.tenantid = $1 and a.fingerprint = $2 and s.rolname = $3 and t.rolname = $4`;
