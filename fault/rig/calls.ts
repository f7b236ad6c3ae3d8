import { batchStarted, deliveryLoad, jobDone, email, type Backend } from '../markers.js';
import type { Link } from '../wire/link.js';
import type { Member } from './member.js';

/** A carrier call, as seen on the wire of one process. */
export interface Call {
  readonly deliveryid: string;
  /** The process's name. */
  readonly by: string;
  readonly sentAtMs: number;
}

/** A process that claimed a delivery, to prepare its email. */
export interface Load {
  readonly by: string;
  readonly atMs: number;
}

/** What a process has in flight at a moment, derived from its requests. */
export interface InHand {
  /** Claimed or sent to the carrier, and perhaps not recorded yet. */
  readonly deliveryids: readonly string[];
  /** Batches that it has started and whose jobs it has not completed. */
  readonly batchids: readonly string[];
}

/** A response this recent may not be in the ledger yet. The ledger tells later. */
const SETTLING_MS = 10_000;
const MAX_REMEMBERED = 1_000;

/** Every carrier call of a run, and which process made it. */
export class CallBook {
  readonly #calls = new Map<string, Call[]>();
  readonly #loads = new Map<string, Load[]>();

  constructor(private readonly backend: Backend) {}

  /** Of a delivery, oldest first. */
  of(deliveryid: string): readonly Call[] {
    return this.#calls.get(deliveryid) ?? [];
  }

  /** When processes claimed a delivery, oldest first. */
  loadsOf(deliveryid: string): readonly Load[] {
    return this.#loads.get(deliveryid) ?? [];
  }

  /** Deliveries that a process claimed within a period. */
  loadedBy(
    member: string,
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  ): readonly string[] {
    if (fromMs >= toMs) return [];
    return [...this.#loads]
      .filter(([, loads]) => loads.some(({ by, atMs }) => by === member && atMs > fromMs && atMs < toMs))
      .map(([deliveryid]) => deliveryid);
  }

  /**
   * Watches a process through its links.
   * @returns a function that tells what it has in flight
   */
  watch(by: string, { carrier, smtp, postgres, redis }: Member['links']): () => InHand {
    const emails = new Recent();
    const batches = new Recent();
    const note = (request: Buffer): void => {
      for (const deliveryid of email.concerns(request.toString('latin1')).deliveryids ?? []) {
        emails.begin(deliveryid);
        add(this.#calls, deliveryid, { deliveryid, by, sentAtMs: Date.now() });
      }
    };
    const noteLoad = (request: Buffer): void => {
      const text = request.toString('latin1');
      if (deliveryLoad.matches(text)) {
        for (const id of deliveryLoad.concerns(text).deliveryids ?? []) {
          emails.begin(id);
          add(this.#loads, id, { by, atMs: Date.now() });
        }
      }
      if (!batchStarted.matches(text)) return;
      for (const batchid of batchStarted.concerns(text).batchids ?? []) batches.begin(batchid);
    };
    const done = jobDone(this.backend);
    const noteDone = (request: Buffer): void => {
      const text = request.toString('latin1');
      if (!done.matches(text)) return;
      const { batchids = [], deliveryids = [] } = done.concerns(text);
      for (const batchid of batchids) batches.end(batchid);
      for (const id of deliveryids) emails.end(id);
    };
    for (const link of [carrier, smtp]) {
      if (!link) continue;
      link.onRequest = note;
      link.onResponse = (request) => {
        for (const id of email.concerns(request.toString('latin1')).deliveryids ?? []) emails.end(id);
      };
    }
    if (postgres) postgres.onRequest = noteLoad;
    const queue: Link | undefined = this.backend === 'redis' ? redis : postgres;
    if (queue) queue.onResponse = noteDone;
    return () => ({ deliveryids: emails.names(SETTLING_MS), batchids: batches.names(0) });
  }
}

function add<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

/** What has started, and what has ended recently. */
class Recent {
  /** When each ended; undefined while in flight. */
  readonly #ends = new Map<string, number | undefined>();

  begin(name: string): void {
    this.#ends.delete(name);
    this.#ends.set(name, undefined);
    if (this.#ends.size > MAX_REMEMBERED) this.names(SETTLING_MS);
  }

  end(name: string): void {
    if (this.#ends.has(name)) this.#ends.set(name, Date.now());
  }

  /** Those that ended recently; forgets the others. */
  names(agoMs: number): readonly string[] {
    const since = Date.now() - agoMs;
    for (const [name, endedAtMs] of this.#ends) {
      if (endedAtMs !== undefined && endedAtMs <= since) this.#ends.delete(name);
    }
    return [...this.#ends.keys()];
  }
}
