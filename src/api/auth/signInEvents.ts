import type { Database } from '../../db/pool/database.js';
import { recordSignInEvents, type SignInEvent } from '../../db/roles/signIn/signInEvents.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';
import type { Logger } from '../../foundation/observability/log.js';

const STORE_MS = 1_000;
/** Different ones of a second, in this process. Further ones are stored without login and address, and at last not at all. */
const MAX_EVENTS = 2_000;

/** Refused sign-ins, stored a moment later: the response takes as long for a known login as for an unknown one. */
export class SignInEvents implements Stoppable {
  #noted = new Map<string, SignInEvent & { count: number }>();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly deps: { readonly database: Pick<Database, 'pool'>; readonly log: Logger }) {
    this.#timer = setInterval(() => void this.#store(), STORE_MS).unref();
  }

  note(event: SignInEvent): void {
    const { tenantid, kind, reason } = event;
    const shown = this.#noted.size < MAX_EVENTS ? event : { tenantid, kind, reason };
    const key = JSON.stringify(shown);
    const known = this.#noted.get(key);
    if (known) known.count += 1;
    else if (this.#noted.size < 2 * MAX_EVENTS) this.#noted.set(key, { ...shown, count: 1 });
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#store();
  }

  async #store(): Promise<void> {
    if (this.#noted.size === 0) return;
    const events = [...this.#noted.values()];
    this.#noted = new Map();
    try {
      await recordSignInEvents(this.deps.database.pool, events);
    } catch (error) {
      this.deps.log.warn({ err: error, events: events.length }, 'refused sign-ins could not be stored');
    }
  }
}
