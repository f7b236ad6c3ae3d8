import { setTimeout as delay } from 'node:timers/promises';
import type { Order } from '../rig/load.js';
import type { Rig } from '../rig/rig.js';
import type { OpenShop } from '../rig/shop.js';
import type { DependencyFault } from './fault.js';
import { emailsPerSecond } from './rate.js';
import { untilConfirmed } from './recover.js';
import type { TenantFault } from './tenantFault.js';

/** What a fault did, measured before the accounts are read. */
export interface Inflicted {
  readonly fault: string;
  readonly what: string;
  readonly seconds: number;
  /** Orders that it met. */
  readonly orders: readonly Order[];
  /** Emails per second of the steady load. */
  readonly rateBefore: number;
  readonly rateAfter: number;
  readonly recoveryMs: number | undefined;
  readonly exits: number;
}

export interface InflictOptions {
  readonly durationMs: number;
  /** Period over which rates are counted. */
  readonly rateMs: number;
}

/** Rates over less than this are not meaningful. */
const TELLING_MS = 60_000;
/** Share of the previous rate that is required after a fault. */
const MIN_RATE = 0.98;

export async function inflict(rig: Rig, fault: DependencyFault, options: InflictOptions): Promise<Inflicted> {
  const exitsBefore = rig.fleet.unexpectedExits.length;
  const rateBefore = await emailsPerSecond(rig, options.rateMs);
  const fromMs = Date.now();
  await fault.inflict(rig, options.durationMs * (fault.times ?? 1));
  const toMs = Date.now();
  const orders = acknowledgedBetween(rig, fromMs, toMs);
  const recoveryMs = await untilConfirmed(rig, orders);
  rig.spans.push({ fault: fault.name, fromMs, toMs, losesResponses: fault.losesResponses === true });
  const rateAfter = await emailsPerSecond(rig, options.rateMs);
  if (options.rateMs >= TELLING_MS && rateAfter < MIN_RATE * rateBefore) {
    rig.complaints.push(`${fault.name}: ${rateAfter} emails/s afterwards, ${rateBefore} before`);
  }
  return {
    fault: fault.name,
    what: fault.what,
    seconds: (toMs - fromMs) / 1000,
    orders,
    rateBefore,
    rateAfter,
    recoveryMs,
    exits: rig.fleet.unexpectedExits.length - exitsBefore,
  };
}

const ORDERS_OF_A_TENANT = 8;

/** Runs all tenant faults at once; the rate is that of the unaffected tenants. */
export async function inflictOnTenants(
  rig: Rig,
  faults: readonly (readonly [TenantFault, OpenShop])[],
  options: InflictOptions,
): Promise<readonly Inflicted[]> {
  const exitsBefore = rig.fleet.unexpectedExits.length;
  const rateBefore = await emailsPerSecond(rig, options.rateMs);
  for (const [fault, shop] of faults) await fault.begin?.(rig, shop);
  const fromMs = Date.now();
  const placed = faults.map(([, shop]) =>
    Array.from({ length: ORDERS_OF_A_TENANT }, () => rig.load.placeOrder(shop)),
  );
  const rateAfter = await emailsPerSecond(rig, options.durationMs);
  for (const [fault, shop] of faults) await fault.end?.(rig, shop);
  const toMs = Date.now();
  return Promise.all(
    faults.map(async ([{ name, what, losesResponses }, shop], index): Promise<Inflicted> => {
      const orders = placed[index] ?? [];
      const { tenantid } = shop;
      rig.spans.push({ fault: name, fromMs, toMs, tenantid, losesResponses: losesResponses === true });
      const recoveryMs = await untilEnded(rig, shop);
      const exits = rig.fleet.unexpectedExits.length - exitsBefore;
      return {
        fault: name,
        what,
        seconds: (toMs - fromMs) / 1000,
        orders,
        rateBefore,
        rateAfter,
        recoveryMs,
        exits,
      };
    }),
  );
}

const ASK_MS = 250;
const MAX_MS = 150_000;

/** Resolves once every delivery of the tenant has finished, successfully or not. */
async function untilEnded({ ledger, complaints }: Rig, shop: OpenShop): Promise<number | undefined> {
  const startedAtMs = Date.now();
  while (Date.now() - startedAtMs < MAX_MS) {
    if ((await ledger.countOpen(shop.tenantid)) === 0) return Date.now() - startedAtMs;
    await delay(ASK_MS);
  }
  complaints.push(`shop ${shop.number}: deliveries still open ${MAX_MS / 1000} s after its fault was over`);
  return undefined;
}

function acknowledgedBetween({ load }: Rig, fromMs: number, toMs: number): readonly Order[] {
  return [...load.orders.values()].filter(
    ({ acknowledgedAtMs }) =>
      acknowledgedAtMs !== undefined && acknowledgedAtMs >= fromMs && acknowledgedAtMs < toMs,
  );
}
