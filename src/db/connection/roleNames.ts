/** PostgreSQL roles of this installation. */
export interface RoleNames {
  /** Enters the roles of tenants whose schema holds no code of their own. Has no other rights. */
  readonly shared: string;
  /** Runs what types bring to show rows of captured tables. Has no rights. */
  readonly capture: string;
  /** The service's own. */
  readonly service: string;
  /** Owns the tenant's schema and can reach nothing else. */
  tenant(tenantid: number): string;
  /** What the names of all tenants' roles begin with. */
  readonly tenantPrefix: string;
}

/** What statements go through: a pool, a connection, or a transaction of knex. */
export interface StatementRunner {
  query(text: string): PromiseLike<{ readonly rows: readonly unknown[] }>;
}

/**
 * Roles belong to the whole cluster: the database's oid in their names keeps two installations apart, and a copy of a
 * database from its original. Throws what the driver throws.
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
