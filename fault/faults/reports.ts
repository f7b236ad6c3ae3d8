import { setTimeout as delay } from 'node:timers/promises';
import { Reporter, sendgridEvent, type GivenEvent } from '../../test/delivery/webhook.js';
import { post } from '../rig/post.js';
import type { Rig } from '../rig/rig.js';
import type { OpenShop } from '../rig/shop.js';

/** The carrier's reports on one shop's emails, and the responses to them. */
export class Reports {
  readonly #reporter = new Reporter();
  /** Nobody's key. */
  readonly #forger = new Reporter();
  /** Ids of events in reports that got a 2xx. */
  readonly taken = new Set<string>();
  /** Ids of events whose signature is not the shop's. */
  readonly forged = new Set<string>();
  /** Forged reports that were accepted. */
  readonly mistakes: string[] = [];
  /** Reports that got no valid response, and were sent again. */
  repeatedAfterFailure = 0;

  constructor(
    private readonly rig: Rig,
    private readonly shop: OpenShop,
  ) {}

  /** Sets the carrier's public key for the shop, as its administrator would. */
  async setKey(): Promise<void> {
    const query =
      'mutation ($key: String) { Utility { set_email_webhook_key(verification_key: $key) { url } } }';
    const variables = { key: this.#reporter.verificationKey };
    await post(`${this.#baseUrl}/roles_pbac`, { query, variables }, this.shop.token);
  }

  event(event: string, deliveryid: string, more: object = {}): GivenEvent {
    return sendgridEvent({
      event,
      deliveryid,
      tenantid: String(this.shop.tenantid),
      email: `shop-${this.shop.number}@example.com`,
      ...more,
    });
  }

  /** Sends a report until it gets a 2xx, as the carrier does. */
  async deliver(events: readonly GivenEvent[]): Promise<void> {
    const body = bodyOf(events);
    const headers = this.#reporter.sign(body);
    while (!isTaken(await this.#send(body, headers))) {
      this.repeatedAfterFailure += 1;
      await delay(RETRY_MS);
    }
    for (const { sg_event_id: id = '' } of events) this.taken.add(id);
  }

  /** Sends reports with forged signatures: one by another key, and one over other bytes. */
  async forge(events: readonly GivenEvent[]): Promise<void> {
    const body = bodyOf(events);
    for (const { sg_event_id: id = '' } of events) this.forged.add(id);
    for (const headers of [this.#forger.sign(body), this.#reporter.sign(`${body} `)]) {
      const status = await this.#send(body, headers);
      if (status !== undefined && isTaken(status)) this.mistakes.push(`a forged report got ${status}`);
    }
  }

  get #baseUrl(): string {
    const webs = this.rig.fleet.webs;
    return webs[Math.floor(Math.random() * webs.length)]?.baseUrl ?? 'http://127.0.0.1:9';
  }

  /** @returns the status; undefined if there was no response */
  async #send(body: string, headers: Record<string, string>): Promise<number | undefined> {
    const url = `${this.#baseUrl}/events/sendgrid/${this.shop.tenantid}`;
    const signal = AbortSignal.timeout(PATIENCE_MS);
    return fetch(url, { method: 'POST', body, headers, signal }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => undefined,
    );
  }
}

const RETRY_MS = 200;
const PATIENCE_MS = 5_000;

const bodyOf = (events: readonly GivenEvent[]): string => `${JSON.stringify(events)}\r\n`;
const isTaken = (status: number | undefined): boolean =>
  status !== undefined && status >= 200 && status < 300;
