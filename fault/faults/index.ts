import type { DependencyFault } from './fault.js';
import { killer, POISON } from './poison.js';
import { poolerAway, poolerRestarted, poolerSilent } from './pooler.js';
import { backendsTerminated, connectionsExhausted, postgresRestarted, snapshotHeld } from './postgres.js';
import { PROVIDER_FAULTS } from './carrier.js';
import { queueEmptied, redisAway, redisFull, redisRestarted, redisSilent, redisSlow } from './queue.js';
import type { TenantFault } from './tenantFault.js';
import { eventWebhook } from './webhook.js';

/** Run one after the other: each affects all tenants. */
export const DEPENDENCY_FAULTS: readonly DependencyFault[] = [
  snapshotHeld,
  queueEmptied,
  redisSlow,
  redisAway,
  redisSilent,
  redisFull,
  redisRestarted,
  backendsTerminated,
  connectionsExhausted,
  postgresRestarted,
];

/** Instead of these, where there is a pooler. */
export const POOLER_FAULTS: readonly DependencyFault[] = [poolerRestarted, poolerAway, poolerSilent];

/** Run in groups, each group concurrently: each fault affects one tenant, and others must not notice. */
export const TENANT_FAULTS: readonly (readonly TenantFault[])[] = [
  PROVIDER_FAULTS,
  POISON,
  [killer],
  [eventWebhook],
];

/** As an option: without spaces. */
export const optionName = ({ name }: { readonly name: string }): string => name.replaceAll(' ', '-');

export const FAULT_NAMES: readonly string[] = [
  ...DEPENDENCY_FAULTS,
  ...POOLER_FAULTS,
  ...TENANT_FAULTS.flat(),
].map(optionName);
