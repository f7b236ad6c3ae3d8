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
 * A proxy between one process and one of its dependencies, on its own port, which understands the protocol. It can
 * hold a single request at a chosen point, stall like a broken network, add latency, or cut the connection.
 */
export class Link {
  readonly #server: Server;
  readonly #connections = new Set<LinkedConnection>();
  #stalled = false;
  #delayMs = 0;
  #refusing = false;
  /** Called for every request: returns the trap that catches it, if any. */
  trapFor: ((request: Buffer) => ArmedTrap | undefined) | undefined;
  /** Called for every request forwarded to the server. */
  onRequest: ((request: Buffer) => void) | undefined;
  /** Called when a request's response has been forwarded. */
  onResponse: ((request: Buffer) => void) | undefined;

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

  /** Passes nothing in either direction and closes nothing, like a partitioned network. */
  stall(): void {
    this.#stalled = true;
  }

  /** Forwards what was held back, in order. */
  heal(): void {
    this.#stalled = false;
    for (const connection of this.#connections) connection.flush();
  }

  /** Adds latency to every message, each way. */
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

  /** Requests without a response, by their first readable words, for debugging. */
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
