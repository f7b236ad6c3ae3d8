import { setTimeout as delay } from 'node:timers/promises';
import { reportFaults, type FaultRow } from './analysis/faultReport.js';
import { DEPENDENCY_FAULTS, optionName, POOLER_FAULTS, TENANT_FAULTS } from './faults/index.js';
import { inflict, inflictOnTenants, type Inflicted } from './faults/inflict.js';
import { runChecked, type RunResult } from './checkedRun.js';
import type { Backend } from './markers.js';
import type { OpenShop } from './rig/shop.js';

export interface FaultsOptions {
  /** Names of faults; all when empty. */
  readonly faults: readonly string[];
  readonly backend: Backend;
  /** PgBouncer between processes and PostgreSQL: what happens to it instead of all other faults. */
  readonly pooled?: boolean;
  /** How long each fault lasts. */
  readonly seconds: number;
  /** Mutations per second. */
  readonly rate: number;
  readonly say: (line: string) => void;
}

const SHOPS = 4;
const WARM_UP_MS = 1_500;
/** Share of a fault's duration over which rates are counted. */
const SHARE_FOR_RATES = 0.75;

/**
 * Shortened, so that the effects of a tenant's fault can be waited for. Settings for installation-wide faults keep
 * their defaults.
 */
const ENV = { SEND_DEADLINE_MS: '3000' };

/** Takes each dependency away from the processes in turn, under load, and checks the run. */
export function runFaults({ seconds, faults, ...options }: FaultsOptions): Promise<RunResult<FaultRow>> {
  const isWanted = (fault: { readonly name: string }): boolean =>
    faults.length === 0 || faults.includes(optionName(fault));
  const [dependencyFaults, tenantFaults] =
    options.pooled === true ? [POOLER_FAULTS, []] : [DEPENDENCY_FAULTS, TENANT_FAULTS];
  const groups = tenantFaults.map((group) => group.filter(isWanted)).filter((group) => group.length > 0);
  const timing = { durationMs: seconds * 1000, rateMs: seconds * 1000 * SHARE_FOR_RATES };
  return runChecked({
    ...options,
    shops: SHOPS,
    special: groups.flat().map(({ special }) => special),
    strength: { web: 2, relay: 2, worker: 3 },
    env: ENV,
    exactRate: true,
    async disturb(rig) {
      await delay(WARM_UP_MS);
      const inflicted: Inflicted[] = [];
      for (const fault of dependencyFaults) {
        if (!isWanted(fault) || (fault.backend ?? options.backend) !== options.backend) continue;
        options.say(`  ${fault.name}: ${fault.what}`);
        inflicted.push(await inflict(rig, faults.length === 0 ? fault : { ...fault, times: 1 }, timing));
      }
      const special = rig.shops.slice(SHOPS);
      for (const group of groups) {
        options.say(`  in trouble: ${group.map(({ name }) => name).join(', ')}`);
        const troubled = group.map((fault) => [fault, special.shift() as OpenShop] as const);
        inflicted.push(...(await inflictOnTenants(rig, troubled, timing)));
      }
      return (accounts, duplicates) => reportFaults(inflicted, accounts, duplicates);
    },
  });
}
