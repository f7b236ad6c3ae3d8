import { setTimeout as delay } from 'node:timers/promises';
import type { HostAddress } from '../../config/hostAddress.js';
import type { Logger } from '../../foundation/observability/log.js';

/** What a server reports about itself. */
export interface ServerState {
  readonly acceptsWrites: boolean;
  /** Raised by each promotion; hexadecimal, of fixed width. */
  readonly timeline: string;
}

/** An open connection that a failover can break. */
export interface Severable {
  /** Breaks it immediately; requests in flight get no response. */
  sever(): void;
}

/** No server accepts writes: all are standbys, read-only, or unreachable. */
export class NoPrimaryError extends Error {
  readonly code = 'NO_PRIMARY';
}

/** Pause between two rounds of polling all servers. */
const RETRY_MS = 100;
/** How long to wait for the other servers once one that accepts writes has responded. */
const GRACE_MS = 300;

/**
 * Tracks which of several servers accepts writes. It is found by polling all of them, and remembered until in doubt: a
 * connection to it failed, or it became read-only. While there is none, connections wait for at most `maxWaitMs` of each
 * outage; later ones fail immediately. When one is found, connections to all other servers are broken, since a server that
 * was cut off would keep them, and what runs on them, until TCP gives up.
 */
export class Primary {
  #current: HostAddress | undefined;
  #search: Promise<HostAddress> | undefined;
  #awaySinceMs: number | undefined;
  readonly #connections = new Map<Severable, HostAddress>();

  constructor(
    private readonly hosts: readonly HostAddress[],
    private readonly options: {
      /** Rejects with what pg throws. */
      readonly ask: (host: HostAddress) => Promise<ServerState>;
      readonly maxWaitMs: number;
      readonly log: Logger;
    },
  ) {}

  /** Whether there are several servers. */
  get isOneOfMany(): boolean {
    return this.hosts.length > 1;
  }

  /** Throws what pg throws, or NoPrimaryError. */
  async locate(): Promise<HostAddress> {
    const [only] = this.hosts;
    if (only && !this.isOneOfMany) return only;
    return this.#current ?? (this.#search ??= this.#find().finally(() => (this.#search = undefined)));
  }

  /** Marks the server as in doubt, so that the next connection polls all of them. */
  doubt(host: HostAddress): void {
    if (this.#current === host) this.#current = undefined;
  }

  /** Polls all servers, and switches to the one that accepts writes now, if any. */
  async check(): Promise<void> {
    const found = await this.#probeAll().catch(() => undefined);
    if (found) this.#moveTo(found);
  }

  opened(connection: Severable, host: HostAddress): void {
    this.#connections.set(connection, host);
    // Another server took over while it was being opened.
    if (this.#current && this.#current !== host && this.isOneOfMany) connection.sever();
  }

  closed(connection: Severable): void {
    this.#connections.delete(connection);
  }

  severAll(): void {
    for (const connection of this.#connections.keys()) connection.sever();
  }

  async #find(): Promise<HostAddress> {
    for (;;) {
      try {
        const found = await this.#probeAll();
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

  /** @returns the server with the latest timeline among those that accept writes: a replaced primary may be back */
  async #probeAll(): Promise<HostAddress> {
    let onFirst: () => void = () => undefined;
    const first = new Promise<void>((resolve) => (onFirst = resolve));
    const found: { readonly host: HostAddress; readonly timeline: string }[] = [];
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
        reasons.push(`${name}: ${typeof code === 'string' ? code : 'no response'}`);
      }
    });
    const allProbed = Promise.all(all);
    await Promise.race([allProbed, first.then(() => delay(GRACE_MS))]);
    const [best] = found.sort((one, other) => other.timeline.localeCompare(one.timeline));
    if (best) return best.host;
    // A rejected password is not an outage, whatever the other servers report.
    if (refusal !== undefined) throw refusal as Error;
    throw new NoPrimaryError(`no server accepts writes (${reasons.join(', ')})`);
  }

  #moveTo(host: HostAddress): void {
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

/** Login rejected, or no such database or none that may be connected to: waiting does not help. */
function isRefusal(code: unknown): boolean {
  return typeof code === 'string' && /^(28...|3D000|42501|55000)$/.test(code);
}
