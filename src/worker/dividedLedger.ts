import type { Ledger } from '../db/pool/ledgerPool.js';
import type { TenantLimiter } from '../foundation/limits/tenantLimiter.js';

/**
 * The ledger for batches of one tenant. Their statements take longer the more rules it has, and its events are as large as it likes: they
 * must not take all connections, on which everybody's deliveries are loaded and recorded.
 * @param connections of the ledger, those that batches may hold
 */
export function dividedLedger(ledger: Ledger, connections: TenantLimiter, tenantid: number): Ledger {
  return {
    query: (statement, values) => connections.run(tenantid, () => ledger.query<never>(statement, values)),
    transaction: (steps) => connections.run(tenantid, () => ledger.transaction(steps)),
  };
}
