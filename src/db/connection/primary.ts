import { setTimeout as delay } from 'node:timers/promises';
import type { DatabaseHost } from '../../databaseUrl.js';
import type { Logger } from '../../log.js';

/** What a server says of itself. */
export interface ServerState {
  readonly acceptsWrites: boolean;
  /** Raised by each promotion; hexadecimal, of fixed width. */
  readonly timeline: string;
}

/** An open connection, as far as a failover concerns it. */
export interface Severable {
  /** Breaks it at once: what is under way on it has no answer. */
  sever(): void;
}

/** No server accepts writes: all are standbys, read-only, or away. */
export class NoPrimaryError extends Error {
  readonly code = 'NO_PRIMARY';
}

/** Pause between two rounds of asking all servers. */
const RETRY_MS = 100;
/** How much longer than the first that accepts writes the other servers have to answer. */
const GRACE_MS = 300;

/**
 * Which of several servers accepts writes. It is found by asking all of them, and remembered until it is in doubt: a
 * connection to it failed, or it turned read-only. While it is away connections wait for the next one, for at most
 * `maxWaitMs` of each outage; later ones fail at once. Connections to any other server are broken when it is found, since
 * a server that was cut off would keep them, and what runs on them, for as long as TCP does.
 */
export class Primary {
  #current: DatabaseHost | undefined;
  #search: Promise<DatabaseHost> | undefined;
  #awaySinceMs: number | undefined;
  readonly #connections = new Map<Severable, DatabaseHost>();

  constructor(
    private readonly hosts: readonly DatabaseHost[],
    private readonly options: {
      /** Rejects with what pg throws. */
      readonly ask: (host: DatabaseHost) => Promise<ServerState>;
      readonly maxWaitMs: number;
      readonly log: Logger;
    },
  ) {}

  /** Whether there is a choice. */
  get isOneOfMany(): boolean {
    return this.hosts.length > 1;
  }

  /** Throws what pg throws, or NoPrimaryError. */
  async locate(): Promise<DatabaseHost> {
    const [only] = this.hosts;
    if (only && !this.isOneOfMany) return only;
    return this.#current ?? (this.#search ??= this.#find().finally(() => (this.#search = undefined)));
  }

  /** The server is not what it was: the next connection asks all of them again. */
  doubt(host: DatabaseHost): void {
    if (this.#current === host) this.#current = undefined;
  }

  /** Asks all servers again, and moves to the one that accepts writes now, if there is one. */
  async check(): Promise<void> {
    const found = await this.#askAll().catch(() => undefined);
    if (found) this.#moveTo(found);
  }

  opened(connection: Severable, host: DatabaseHost): void {
    this.#connections.set(connection, host);
    // It was opened while another server took over.
    if (this.#current && this.#current !== host && this.isOneOfMany) connection.sever();
  }

  closed(connection: Severable): void {
    this.#connections.delete(connection);
  }

  severAll(): void {
    for (const connection of this.#connections.keys()) connection.sever();
  }

  async #find(): Promise<DatabaseHost> {
    for (;;) {
      try {
        const found = await this.#askAll();
        this.#awaySinceMs = undefined;
        this.#moveTo(found);
        return found;
      } catch (error) {
        const nowMs = performance.now();
        this.#awaySinceMs ??= nowMs;
        const isOver = nowMs - this.#awaySinceMs >= this.options.maxWaitMs;
        if (isOver || !(error instanceof NoPrimaryError)) throw error;
      }
      await delay(RETRY_MS);
    }
  }

  /** @returns of the servers that accept writes the one with the latest timeline: a primary that was replaced may be back */
  async #askAll(): Promise<DatabaseHost> {
    let onFirst: () => void = () => undefined;
    const first = new Promise<void>((resolve) => (onFirst = resolve));
    const found: { readonly host: DatabaseHost; readonly timeline: string }[] = [];
    const reasons: string[] = [];
    let refusal: unknown;
    const all = this.hosts.map(async (host) => {
      const name = `${host.host}:${host.port}`;
      try {
        const { acceptsWrites, timeline } = await this.options.ask(host);
        if (!acceptsWrites) {
          reasons.push(`${name} is read-only`);
          return;
        }
        found.push({ host, timeline });
        onFirst();
      } catch (error) {
        const { code } = error as { code?: unknown };
        if (isRefusal(code)) refusal ??= error;
        reasons.push(`${name}: ${typeof code === 'string' ? code : 'no answer'}`);
      }
    });
    const answered = Promise.all(all);
    await Promise.race([answered, first.then(() => delay(GRACE_MS))]);
    const [best] = found.sort((one, other) => other.timeline.localeCompare(one.timeline));
    if (best) return best.host;
    // A password that one server refuses is no outage, whatever the others say.
    if (refusal !== undefined) throw refusal as Error;
    throw new NoPrimaryError(`no server accepts writes (${reasons.join(', ')})`);
  }

  #moveTo(host: DatabaseHost): void {
    const stale = [...this.#connections].filter(([, other]) => other !== host);
    this.#current = host;
    if (stale.length === 0) return;
    const { host: name, port } = host;
    this.options.log.warn(
      { host: name, port, broken: stale.length },
      'another PostgreSQL server accepts writes now',
    );
    for (const [connection] of stale) connection.sever();
  }
}

/** Refused login, or no such database: waiting does not help. */
function isRefusal(code: unknown): boolean {
  return typeof code === 'string' && /^(28...|3D000)$/.test(code);
}
