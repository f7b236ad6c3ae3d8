import { setTimeout as delay } from 'node:timers/promises';
import type { Application } from './application.js';
import type { Fleet } from './fleet.js';
import { post, Refused } from './post.js';
import type { OpenShop } from './shop.js';

/** A mutation that was sent. Whether it committed, its tenant's table shows. */
export interface Order {
  readonly shop: OpenShop;
  readonly orderId: number;
  /** Unique, and recognizable on the wire. */
  readonly mark: string;
  readonly channel: 'once' | 'often';
  /** By a mutation, or by plain SQL without Rowpost. */
  readonly writer: 'api' | 'sql';
  /** Designed to fail after its row was written. */
  readonly doomed: boolean;
  acknowledgedAtMs: number | undefined;
  /** The response, if it had errors. */
  refusal?: Refused;
}

const CREATE = 'mutation ($input: ordersInput) { create_orders(input: $input) { order_id } }';
const CREATE_TWICE = `mutation ($input: ordersInput) {
  first: create_orders(input: $input) { order_id } second: create_orders(input: $input) { order_id } }`;

const ONCE_EVERY = 4;
const DOOMED_EVERY = 25;
const RETRY_MS = 50;
const EXACT_TIMER_MS = 10;
/** Timeout of a mutation or statement. */
export const PATIENCE_MS = 10_000;

/**
 * Places orders at a steady rate, shops in round-robin: mutations through any web process that is up, and plain SQL
 * for every second order of a captured shop.
 */
export class Load {
  readonly orders = new Map<string, Order>();
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #lastOrderId = 0;
  acknowledged = 0;

  constructor(
    private readonly fleet: Fleet,
    private readonly application: Application,
    readonly shops: readonly OpenShop[],
  ) {}

  /** @param exact compensates for late timers: otherwise a machine short of CPU time gets fewer orders as well */
  start(perSecond: number, exact: boolean): void {
    if (!exact) {
      this.#timer = setInterval(() => this.placeOrder(), 1000 / perSecond);
      return;
    }
    const startedAtMs = performance.now();
    let placed = 0;
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startedAtMs) * perSecond) / 1000);
      for (; placed < due; placed++) this.placeOrder();
    }, EXACT_TIMER_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
  }

  /** Orders acknowledged within the last `ageMs` milliseconds. */
  acknowledgedWithin(ageMs: number): readonly Order[] {
    const since = Date.now() - ageMs;
    return [...this.orders.values()].slice(-RECENT).filter((order) => (order.acknowledgedAtMs ?? 0) > since);
  }

  /** @param shop round-robin by default */
  placeOrder(shop?: OpenShop): Order {
    const orderId = ++this.#lastOrderId;
    const chosen = shop ?? this.shops[orderId % this.shops.length];
    if (!chosen) throw new Error('there are no shops');
    const order: Order = {
      shop: chosen,
      orderId,
      mark: `mk-${chosen.number}-${orderId}`,
      channel: orderId % ONCE_EVERY === 0 ? 'once' : 'often',
      writer: chosen.captured && Math.floor(orderId / this.shops.length) % 2 === 0 ? 'sql' : 'api',
      doomed: orderId % DOOMED_EVERY === 0,
      acknowledgedAtMs: undefined,
    };
    this.orders.set(order.mark, order);
    const sent = order.writer === 'sql' ? this.#insert(order) : this.#send(order);
    this.#running.add(sent);
    void sent.then(() => this.#running.delete(sent));
    return order;
  }

  async #insert(order: Order): Promise<void> {
    try {
      await this.application.insertOrder(order.shop.schema, order, order.doomed ? 2 : 1);
      this.#acknowledge(order);
    } catch {
      // Whether it committed, the table shows in the end.
    }
  }

  #acknowledge(order: Order): void {
    order.acknowledgedAtMs = Date.now();
    this.acknowledged += 1;
  }

  async #send(order: Order): Promise<void> {
    const { orderId, mark, channel, doomed, shop } = order;
    const webs = this.fleet.webs;
    const web = webs[orderId % webs.length];
    if (!web) {
      await delay(RETRY_MS);
      return this.#send(order);
    }
    const query = doomed ? CREATE_TWICE : CREATE;
    const variables = { input: { order_id: orderId, channel, mark } };
    try {
      await post(`${web.baseUrl}/query`, { query, variables }, shop.token, PATIENCE_MS);
      this.#acknowledge(order);
    } catch (error) {
      // No response: whether it committed, the table shows in the end.
      if (error instanceof Refused) order.refusal = error;
    }
  }
}

const RECENT = 500;
