import type { ProviderEntry } from '../carrier/ledger.js';
import type { AttemptRow, DeliveryRow } from '../rig/ledger.js';
import type { Order } from '../rig/load.js';
import type { Rig } from '../rig/rig.js';
import type { OpenShop } from '../rig/shop.js';
import { groupBy } from './groupBy.js';
import { standingEmails } from './standingEmails.js';

/** An email that has to be accounted for: a committed order and a rule that matches it. */
export interface Expected {
  readonly order: Order;
  readonly ruleid: string;
  readonly delivery: DeliveryRow | undefined;
}

/** Everything that the invariants compare: the tenants' tables, the product's ledger and the carrier's. */
export interface Accounts {
  readonly expected: readonly Expected[];
  /** Orders whose mutation did not commit. */
  readonly rolledBack: readonly Order[];
  readonly deliveries: ReadonlyMap<string, DeliveryRow>;
  /** Deliveries without an order and a rule. */
  readonly unexpected: readonly DeliveryRow[];
  readonly attempts: ReadonlyMap<string, readonly AttemptRow[]>;
  /**
   * Emails accepted by the carrier by delivery, oldest first; see standingEmails.
   */
  readonly accepted: ReadonlyMap<string, readonly ProviderEntry[]>;
  /** Marks of the orders in each batch. */
  readonly batches: ReadonlyMap<string, readonly string[]>;
  /** Deliveries of each order, by its mark. */
  readonly ofOrder: ReadonlyMap<string, readonly string[]>;
  readonly shopOf: (tenantid: number | string) => OpenShop | undefined;
}

export async function readAccounts(rig: Rig): Promise<Accounts> {
  await rig.carrier.refresh();
  const deliveries = await rig.ledger.deliveries();
  const attempts = groupBy(await rig.ledger.attempts(), ({ deliveryid }) => deliveryid);
  const committed = new Map<number, ReadonlySet<number>>();
  for (const shop of rig.shops) committed.set(shop.tenantid, await rig.ledger.committedOrders(shop));

  const byRuleAndOrder = new Map(deliveries.map((row) => [`${row.ruleid}:${row.orderId}`, row]));
  const expected: Expected[] = [];
  const rolledBack: Order[] = [];
  const ofOrder = new Map<string, string[]>();
  for (const order of rig.load.orders.values()) {
    if (committed.get(order.shop.tenantid)?.has(order.orderId) !== true) {
      rolledBack.push(order);
      continue;
    }
    const { confirmRuleid, receiptRuleid } = order.shop;
    for (const ruleid of order.channel === 'once' ? [confirmRuleid, receiptRuleid] : [confirmRuleid]) {
      const key = `${ruleid}:${order.orderId}`;
      const delivery = byRuleAndOrder.get(key);
      byRuleAndOrder.delete(key);
      expected.push({ order, ruleid, delivery });
      if (delivery) ofOrder.set(order.mark, [...(ofOrder.get(order.mark) ?? []), delivery.deliveryid]);
    }
  }
  const struckBatches = rig.strikes.flatMap(({ batchids }) => batchids ?? []);
  const byTenant = new Map(rig.shops.map((shop) => [String(shop.tenantid), shop]));
  const { lostTimes } = rig.timeMachine;
  return {
    expected,
    rolledBack,
    deliveries: new Map(deliveries.map((row) => [row.deliveryid, row])),
    unexpected: [...byRuleAndOrder.values()],
    attempts,
    accepted: groupBy(standingEmails(rig.carrier.entries, lostTimes), ({ deliveryid }) => deliveryid),
    batches: await rig.ledger.ordersOfBatches(struckBatches),
    ofOrder,
    shopOf: (tenantid) => byTenant.get(String(tenantid)),
  };
}
