import { hashPassword } from '../../src/control/roles/passwords.js';
import { createHashedTenant, type CreatedTenant, type NewTenant } from '../../src/control/tenants/tenants.js';
import type { Pool } from 'pg';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** Instead of 2^15, which takes about 0.1 s to hash, and as long to sign in. */
const QUICK_COST_LOG2 = 4;

/** A hash that takes no time to make and to check. */
export const quickHash = (password: string): Promise<string> => hashPassword(password, QUICK_COST_LOG2);

/** As `createTenant` makes it, but for the cost of the password's hash and the check of its strength. */
export async function createTestTenant(
  pool: Pool,
  { rootPassword, ...tenant }: NewTenant,
): Promise<CreatedTenant> {
  const hashed = { ...tenant, rootPasswordHash: await quickHash(rootPassword) };
  return inTransaction(pool, (client) => createHashedTenant(client, hashed));
}
