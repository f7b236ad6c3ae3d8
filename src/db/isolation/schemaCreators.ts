import type { Pool } from 'pg';
import { QUEUE_SCHEMA } from '../pool/database.js';

/** A schema that the service or a tenant's code may look names up in, and who else may create objects there. */
export interface OpenSchema {
  readonly schema: string;
  /** As written in GRANT. */
  readonly role: string;
  /** The statement that ends it. */
  readonly revoke: string;
}

/**
 * Roles other than its owner and the service that may create objects in `public` or in a schema of the service. In an adopted
 * one, grants to single roles are up to its owner. Throws what pg throws.
 */
export async function readOpenSchemas(pool: Pool): Promise<readonly OpenSchema[]> {
  const { rows } = await pool.query<OpenSchema>(OPEN_SCHEMAS_SQL, [
    ['public', 'rowpost', 'rowpost_tenant', QUEUE_SCHEMA],
  ]);
  return rows;
}

const OPEN_SCHEMAS_SQL = `
  select n.nspname as schema, g.role, format('revoke create on schema %I from %s', n.nspname, g.role) as revoke
  from pg_catalog.pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a,
    lateral (select case a.grantee when 0 then 'public' else quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) end as role) g
  where n.nspname = any ($1) and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner
    and a.grantee <> (select oid from pg_catalog.pg_roles where rolname = current_user)
    and (a.grantee = 0 or not exists (select from rowpost.tenant t where t.schema = n.nspname and t.adopted))
  order by n.nspname, a.grantee`;
