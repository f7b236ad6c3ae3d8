import type { ControlDb } from '../db/pool/database.js';
import { requireTenantInThisCell } from '../db/cells/placement.js';

/**
 * Lets a tenant's changes of control objects happen one after another: each is checked against what it reads, and another
 * would change that meanwhile. Call it first in a transaction. The tenant is not handed over before that ends. Locks a row,
 * because tenants could hold an advisory lock; writes of rows that refer to the tenant go on. Throws AppError TENANT_MOVED,
 * TENANT_MOVING.
 */
export async function holdTenant(trx: ControlDb, tenantid: number): Promise<void> {
  await trx.raw('select from rowpost.tenant where tenantid = ? for no key update', [tenantid]);
  await requireTenantInThisCell(trx, tenantid);
}
