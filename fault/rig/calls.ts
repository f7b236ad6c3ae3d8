import { batchBegun, deliveryLoad, jobDone, mail, type Backend } from '../markers.js';
import type { Link } from '../wire/link.js';
import type { Member } from './member.js';

/** A call of the provider, as it went over the wire from one process. */
export interface Call {
  readonly deliveryid: string;
  /** The process's name. */
  readonly by: string;
  readonly sentAtMs: number;
}

/** A process that took a delivery in hand, to prepare its mail. */
export interface Load {
  readonly by: string;
  readonly atMs: number;
}

/** What a process has in its hands at a moment, as its own requests tell. */
export interface InHand {
  /** Taken in hand or given to the provider, and not surely recorded yet. */
  readonly deliveryids: readonly string[];
  /** Batches it has begun with, whose jobs it has not ended. */
  readonly batchids: readonly string[];
}

/** An answer that came so lately may not be in the ledger yet. Which were is told from the ledger afterwards. */
const SETTLING_MS = 10_000;
const MAX_REMEMBERED = 1_000;

/** Every call that any process of a run has made, and which process it was. */
export class CallBook {
  readonly #calls = new Map<string, Call[]>();
  readonly #loads = new Map<string, Load[]>();

  constructor(private readonly backend: Backend) {}

  /** Of a delivery, oldest first. */
  of(deliveryid: string): readonly Call[] {
    return this.#calls.get(deliveryid) ?? [];
  }

  /** When processes took a delivery in hand, oldest first. */
  loadsOf(deliveryid: string): readonly Load[] {
    return this.#loads.get(deliveryid) ?? [];
  }

  /** Deliveries that a process took in hand within a time. */
  loadedBy(
    member: string,
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  ): readonly string[] {
    if (fromMs >= toMs) return [];
    return [...this.#loads]
      .filter(([, loads]) => loads.some(({ by, atMs }) => by === member && atMs > fromMs && atMs < toMs))
      .map(([deliveryid]) => deliveryid);
  }

  /** Watches a process by its links. @returns what it has in hand at the moment of asking */
  watch(by: string, { provider, postgres, redis }: Member['links']): () => InHand {
    const mails = new Recent();
    const batches = new Recent();
    const note = (request: Buffer): void => {
      for (const deliveryid of mail.concerns(request.toString('latin1')).deliveryids ?? []) {
        mails.begin(deliveryid);
        add(this.#calls, deliveryid, { deliveryid, by, sentAtMs: Date.now() });
      }
    };
    const noteLoad = (request: Buffer): void => {
      const text = request.toString('latin1');
      if (deliveryLoad.matches(text)) {
        for (const id of deliveryLoad.concerns(text).deliveryids ?? []) {
          mails.begin(id);
          add(this.#loads, id, { by, atMs: Date.now() });
        }
      }
      if (!batchBegun.matches(text)) return;
      for (const batchid of batchBegun.concerns(text).batchids ?? []) batches.begin(batchid);
    };
    const done = jobDone(this.backend);
    const noteDone = (request: Buffer): void => {
      const text = request.toString('latin1');
      if (!done.matches(text)) return;
      const { batchids = [], deliveryids = [] } = done.concerns(text);
      for (const batchid of batchids) batches.end(batchid);
      for (const id of deliveryids) mails.end(id);
    };
    if (provider) {
      provider.onRequest = note;
      provider.onAnswer = (request) => {
        for (const id of mail.concerns(request.toString('latin1')).deliveryids ?? []) mails.end(id);
      };
    }
    if (postgres) postgres.onRequest = noteLoad;
    const queue: Link | undefined = this.backend === 'redis' ? redis : postgres;
    if (queue) queue.onAnswer = noteDone;
    return () => ({ deliveryids: mails.names(SETTLING_MS), batchids: batches.names(0) });
  }
}

function add<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

/** What has begun, and what has ended lately. */
class Recent {
  /** When each has ended; undefined while it has not. */
  readonly #ends = new Map<string, number | undefined>();

  begin(name: string): void {
    this.#ends.delete(name);
    this.#ends.set(name, undefined);
    if (this.#ends.size > MAX_REMEMBERED) this.names(SETTLING_MS);
  }

  end(name: string): void {
    if (this.#ends.has(name)) this.#ends.set(name, Date.now());
  }

  /** Those that have not ended so long ago. The others are forgotten. */
  names(agoMs: number): readonly string[] {
    const since = Date.now() - agoMs;
    for (const [name, endedAtMs] of this.#ends) {
      if (endedAtMs !== undefined && endedAtMs <= since) this.#ends.delete(name);
    }
    return [...this.#ends.keys()];
  }
}
