import type { DependencyFault } from './fault.js';
import { killer, POISON } from './poison.js';
import { backendsTerminated, connectionsExhausted, postgresRestarted, snapshotHeld } from './postgres.js';
import { PROVIDER_FAULTS } from './provider.js';
import { queueEmptied, redisAway, redisFull, redisRestarted, redisSilent, redisSlow } from './queue.js';
import type { TenantFault } from './tenantFault.js';
import { eventWebhook } from './webhook.js';

/** One after the other: each concerns everybody. */
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

/** A group at a time, all of it at once: each concerns one tenant, and nobody else may notice. */
export const TENANT_FAULTS: readonly (readonly TenantFault[])[] = [
  PROVIDER_FAULTS,
  POISON,
  [killer],
  [eventWebhook],
];

/** As an option: without spaces. */
export const optionName = ({ name }: { readonly name: string }): string => name.replaceAll(' ', '-');

export const FAULT_NAMES: readonly string[] = [...DEPENDENCY_FAULTS, ...TENANT_FAULTS.flat()].map(optionName);
