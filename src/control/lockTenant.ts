import type { StatementRunner } from '../db/sql/statementRunner.js';
import { requireTenantInThisCell } from '../db/cells/placement.js';

/**
 * Serializes a tenant's changes of control objects: each is checked against what it reads, which another would change meanwhile.
 * Call it first in a transaction. The tenant is not handed over before that ends. Locks a row, because tenants could hold an
 * advisory lock; rows that refer to the tenant can still be written. Throws AppError TENANT_MOVED, TENANT_MOVING.
 */
export async function lockTenant(db: StatementRunner, tenantid: number): Promise<void> {
  await db.query('select from rowpost.tenant where tenantid = $1 for no key update', [tenantid]);
  await requireTenantInThisCell(db, tenantid);
}
