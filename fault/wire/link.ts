import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { LinkedConnection } from './linkedConnection.js';
import type { Protocol } from './protocol.js';
import type { ArmedTrap } from './trap.js';

/** The address that a link leads to. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/**
 * The way of one process to one of the services it depends on: a proxy on a port of its own that knows the protocol.
 * It can hold a single request at a chosen point, stand still as a broken network does, be slow, or be cut.
 */
export class Link {
  readonly #server: Server;
  readonly #connections = new Set<LinkedConnection>();
  #stalled = false;
  #delayMs = 0;
  #refusing = false;
  /** Asked for every request: the trap that it falls into, if any. */
  trapFor: ((request: Buffer) => ArmedTrap | undefined) | undefined;
  /** Sees every request that goes on to the server. */
  onRequest: ((request: Buffer) => void) | undefined;
  /** Sees when a request's answer has gone back. */
  onAnswer: ((request: Buffer) => void) | undefined;

  private constructor(
    private readonly target: Target,
    private readonly protocol: Protocol,
  ) {
    this.#server = createServer((client) => this.#accept(client));
  }

  static async open(target: Target, protocol: Protocol): Promise<Link> {
    const link = new Link(target, protocol);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get isStalled(): boolean {
    return this.#stalled;
  }

  get delayMs(): number {
    return this.#delayMs;
  }

  /** Nothing passes in either direction, and nobody is told: what a partitioned network does. */
  stall(): void {
    this.#stalled = true;
  }

  /** What was held back passes, in order. */
  heal(): void {
    this.#stalled = false;
    for (const connection of this.#connections) connection.flush();
  }

  /** Every message takes so much longer, each way. */
  slowDown(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Breaks every connection; new ones are refused until `allow`. */
  refuse(): void {
    this.#refusing = true;
    this.cut();
  }

  allow(): void {
    this.#refusing = false;
  }

  /** Breaks every connection. */
  cut(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  /** Requests whose answers are due, by their first readable words: for whoever has to find out why nothing moves. */
  pending(): readonly string[] {
    return [...this.#connections].flatMap((connection) => connection.pending());
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #accept(client: Socket): void {
    if (this.#refusing) {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const server = connect(this.target);
    const connection = new LinkedConnection(this, this.protocol, client, server);
    this.#connections.add(connection);
    connection.onClose = () => this.#connections.delete(connection);
  }
}
