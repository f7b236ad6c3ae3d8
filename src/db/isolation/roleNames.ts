import type { StatementRunner } from '../sql/statementRunner.js';

/** PostgreSQL roles of this installation. */
export interface RoleNames {
  /** Switches to the roles of tenants whose schemas are plain. Has no other privileges. */
  readonly shared: string;
  /** Runs types' casts when captured rows become JSON. Has no privileges. */
  readonly capture: string;
  /** The service's own. */
  readonly service: string;
  /** Owns the tenant's schema and can reach nothing else. */
  tenant(tenantid: number): string;
  /** The prefix of all tenants' role names. */
  readonly tenantPrefix: string;
}

/**
 * Roles belong to the whole cluster. The database's oid in their names separates installations, and a copy of a database
 * from its original. Throws what the driver throws.
 */
export async function readRoleNames(runner: StatementRunner): Promise<RoleNames> {
  const { rows } = await runner.query(
    'select oid, current_user::text as service from pg_catalog.pg_database where datname = current_database()',
  );
  const { oid, service } = rows[0] as { oid: number; service: string };
  const prefix = `rowpost_${oid}`;
  return {
    service,
    capture: `${prefix}_capture`,
    shared: `${prefix}_shared`,
    tenant: (tenantid) => `${prefix}_tenant_${tenantid}`,
    tenantPrefix: `${prefix}_tenant_`,
  };
}
