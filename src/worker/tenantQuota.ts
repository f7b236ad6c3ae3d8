import type { TenantQuota } from './fairSlots.js';
import { createIdleMeter } from './idleMeter.js';

/** Idle ratio above which the quota is not reduced. */
const IDLE_ENOUGH = 0.7;

/**
 * A tenant may hold half of a worker's slots. While other tenants have work, its quota shrinks as the process gets busier:
 * then their emails wait for the event loop rather than for slots. A process that mostly waits for a carrier or slow
 * queries gains nothing from holding a tenant back.
 */
export function createTenantQuota(slots: number): TenantQuota {
  const alone = Math.ceil(slots / 2);
  const minQuota = Math.ceil(slots / 32);
  const idle = createIdleMeter();
  return {
    alone,
    contended: () => Math.max(minQuota, Math.round(alone * Math.min(1, idle() / IDLE_ENOUGH) ** 2)),
  };
}
