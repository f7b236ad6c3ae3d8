import type { Socket } from 'node:net';
import type { Link } from './link.js';
import type { Protocol } from './protocol.js';
import { SYNC_BYTES } from './postgresProtocol.js';
import { splitter } from './splitter.js';
import type { Caught } from './trap.js';

/** One connection through a link: two sockets, and what is held between them. */
export class LinkedConnection {
  readonly #splitRequests: (chunk: Buffer) => Buffer[];
  readonly #splitReplies: (chunk: Buffer) => Buffer[];
  /** Requests without a response, in order; greetings respond to none. */
  readonly #unanswered: (Buffer | undefined)[];
  /** Set while requests or responses are held by a trap. */
  #heldRequests: Buffer[] | undefined;
  #heldResponses: Buffer[] | undefined;
  /** The request whose response is awaited, and what to do then. */
  #awaited: { readonly request: Buffer; readonly arrived: () => void } | undefined;
  /** Data held back while the link is stalled. */
  #stalled: { readonly to: Socket; readonly bytes: Buffer }[] = [];
  /** The server's end of the connection, while a stalled link keeps it from the client. */
  #clientsEnd: (() => void) | undefined;
  onClose: () => void = () => undefined;

  constructor(
    private readonly link: Link,
    private readonly protocol: Protocol,
    private readonly client: Socket,
    private readonly server: Socket,
  ) {
    this.#splitRequests = splitter(protocol.requests());
    this.#splitReplies = splitter(protocol.replies());
    this.#unanswered = Array.from({ length: protocol.greetings }, () => undefined);
    for (const socket of [client, server]) socket.setNoDelay(true);
    // Closes are forwarded as they are: a reset as a reset, and data written before a close arrives before it.
    client.on('error', () => this.destroy());
    client.on('close', () => this.destroy());
    server.on('error', () => this.#endClient(() => client.resetAndDestroy()));
    server.on('close', () => this.#endClient(() => client.end()));
    client.on('data', (chunk) => {
      for (const request of this.#splitRequests(chunk)) this.#onRequest(request);
    });
    server.on('data', (chunk) => {
      for (const reply of this.#splitReplies(chunk)) this.#onReply(reply);
    });
    client.on('drain', () => server.resume());
    server.on('drain', () => client.resume());
  }

  /** After the link's stall. */
  flush(): void {
    const held = this.#stalled;
    this.#stalled = [];
    for (const { to, bytes } of held) this.#pass(to, bytes);
    this.#clientsEnd?.();
  }

  pending(): readonly string[] {
    return this.#unanswered.flatMap((request) => (request ? [readable(request)] : []));
  }

  destroy(): void {
    this.client.destroy();
    this.server.destroy();
    this.onClose();
  }

  #endClient(end: () => void): void {
    if (this.link.isStalled) this.#clientsEnd ??= end;
    else end();
  }

  #onRequest(request: Buffer): void {
    if (this.#heldRequests) {
      this.#heldRequests.push(request);
      return;
    }
    const armed = this.link.trapFor?.(request);
    if (!armed) {
      this.#forward(request);
      return;
    }
    const tellCaught = (release: () => void): void => {
      armed.caught({ request: request.toString('latin1'), release } satisfies Caught);
    };
    switch (armed.hold) {
      case 'request':
        this.#heldRequests = [request];
        tellCaught(() => this.#releaseRequests());
        return;
      case 'commit':
        this.#pass(this.server, request.subarray(0, -SYNC_BYTES));
        this.#heldRequests = [request.subarray(-SYNC_BYTES)];
        tellCaught(() => this.#releaseRequests());
        return;
      case 'reply':
        this.#heldResponses = [];
        this.#awaited = { request, arrived: () => tellCaught(() => this.#releaseResponses()) };
        this.#forward(request);
    }
  }

  #onReply(reply: Buffer): void {
    const ends = this.protocol.endsResponse(reply) && this.#unanswered.length > 0;
    const answered = ends ? this.#unanswered.shift() : undefined;
    if (this.#heldResponses) this.#heldResponses.push(reply);
    else this.#pass(this.client, reply);
    if (!answered) return;
    this.link.onResponse?.(answered);
    if (answered === this.#awaited?.request) {
      const { arrived } = this.#awaited;
      this.#awaited = undefined;
      arrived();
    }
  }

  #forward(request: Buffer): void {
    if (this.protocol.isAnswered(request)) this.#unanswered.push(request);
    this.link.onRequest?.(request);
    this.#pass(this.server, request);
  }

  #releaseRequests(): void {
    const held = this.#heldRequests ?? [];
    this.#heldRequests = undefined;
    for (const request of held) this.#forward(request);
  }

  #releaseResponses(): void {
    const held = this.#heldResponses ?? [];
    this.#heldResponses = undefined;
    for (const reply of held) this.#pass(this.client, reply);
  }

  #pass(to: Socket, bytes: Buffer): void {
    if (to.destroyed) return;
    if (this.link.isStalled || this.#stalled.length > 0) {
      this.#stalled.push({ to, bytes });
      return;
    }
    if (this.link.delayMs > 0) {
      setTimeout(() => {
        if (!to.destroyed) to.write(bytes);
      }, this.link.delayMs);
      return;
    }
    const from = to === this.client ? this.server : this.client;
    if (!to.write(bytes)) from.pause();
  }
}

const MAX_READABLE = 200;

function readable(request: Buffer): string {
  return request
    .toString('latin1')
    .replace(/[^ -~]+/g, ' ')
    .slice(0, MAX_READABLE);
}
