import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What the provider does with a call. */
export type Behavior =
  | { readonly kind: 'accept' }
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Takes the email and responds with 202, after a while. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Takes the email, and responds with 202 once it may. */
  | { readonly kind: 'held'; readonly until: Promise<unknown> }
  /** Reads everything, says nothing. */
  | { readonly kind: 'hang' }
  /** Sends a header every 50 ms, without end. */
  | { readonly kind: 'header-drip' }
  /** Takes the email, responds with 202, and sends the body a byte every 50 ms without end. */
  | { readonly kind: 'body-drip' }
  /** Breaks the connection before it has read the email. */
  | { readonly kind: 'reset-before' }
  /** Takes the email, and breaks the connection instead of answering. */
  | { readonly kind: 'reset-after' };

/** One call as the provider saw it. */
export interface ReceivedCall {
  readonly path: string;
  readonly apiKey: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly deliveryid: string;
  readonly tenantid: string;
  readonly body: SendBody;
  /** Whether the provider has taken the email, whatever it then answered. */
  readonly accepted: boolean;
  readonly atMs: number;
}

export interface SendBody {
  readonly from: { readonly email: string; readonly name?: string };
  readonly personalizations: readonly {
    readonly to: readonly { readonly email: string; readonly name?: string }[];
    readonly cc?: readonly { readonly email: string }[];
    readonly bcc?: readonly { readonly email: string }[];
  }[];
  readonly subject: string;
  readonly reply_to?: { readonly email: string; readonly name?: string };
  readonly reply_to_list?: readonly { readonly email: string; readonly name?: string }[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly categories?: readonly string[];
  readonly attachments?: readonly {
    readonly filename: string;
    readonly content: string;
    readonly disposition: string;
    readonly content_id?: string;
  }[];
  readonly content: readonly { readonly type: string; readonly value: string }[];
  readonly custom_args: { readonly deliveryid: string; readonly tenantid: string };
}

/** One of the two parts of an email. */
export function partOf(
  { content }: SendBody,
  type: 'text/plain' | 'text/html' = 'text/html',
): string | undefined {
  return content.find((part) => part.type === type)?.value;
}

/** A carrier of its own mind: a real HTTP server that keeps its own books. */
export interface FakeProvider {
  readonly url: string;
  /** Every call whose email was read, in order. */
  readonly calls: readonly ReceivedCall[];
  /** How many emails were accepted for each delivery. */
  acceptedPerDelivery(): ReadonlyMap<string, number>;
  /** Decides what happens with each call; accepts all by default. Given undefined when the email was not read. */
  behave: (call: Omit<ReceivedCall, 'accepted'>) => Behavior;
  /** Connections broken before their email is read. */
  refuseUnread: boolean;
  stop(): Promise<void>;
}

const DRIP_MS = 50;

export async function startFakeProvider(): Promise<FakeProvider> {
  const calls: ReceivedCall[] = [];
  const sockets = new Set<Socket>();
  const server = http.createServer((request, response) => {
    if (provider.refuseUnread) {
      request.socket.destroy();
      return;
    }
    if (request.method !== 'POST') {
      // rowpost doctor asks whether anyone is there.
      response.writeHead(405).end();
      return;
    }
    void handle(request, response);
  });
  const handle = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const call = await readCall(request);
    const behavior = provider.behave(call);
    const accepted =
      ['accept', 'slow', 'held', 'body-drip', 'reset-after'].includes(behavior.kind) ||
      (behavior.kind === 'reply' && behavior.status === 202);
    calls.push({ ...call, accepted });
    await respond(behavior, response, calls.length);
  };
  const provider: FakeProvider = {
    get url() {
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    },
    calls,
    acceptedPerDelivery() {
      const counts = new Map<string, number>();
      for (const call of calls) {
        if (call.accepted) counts.set(call.deliveryid, (counts.get(call.deliveryid) ?? 0) + 1);
      }
      return counts;
    },
    behave: () => ({ kind: 'accept' }),
    refuseUnread: false,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return provider;
}

async function readCall(request: http.IncomingMessage): Promise<Omit<ReceivedCall, 'accepted'>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as SendBody;
  return {
    path: request.url ?? '',
    apiKey: (request.headers.authorization ?? '').replace(/^Bearer /, ''),
    headers: request.headers,
    deliveryid: body.custom_args.deliveryid,
    tenantid: body.custom_args.tenantid,
    body,
    atMs: Date.now(),
  };
}

async function respond(behavior: Behavior, response: http.ServerResponse, number: number): Promise<void> {
  switch (behavior.kind) {
    case 'accept':
      response.writeHead(202, { 'x-message-id': `message-${number}` }).end();
      return;
    case 'slow':
    case 'held':
      await (behavior.kind === 'slow' ? delay(behavior.ms) : behavior.until);
      response.writeHead(202, { 'x-message-id': `message-${number}` }).end();
      return;
    case 'reply':
      response.writeHead(behavior.status, behavior.headers).end(behavior.body ?? '');
      return;
    case 'hang':
      return;
    case 'header-drip':
      response.socket?.write('HTTP/1.1 202 Accepted\r\n');
      return drip(response, 'x-drip: 1\r\n');
    case 'body-drip':
      response.writeHead(202, { 'x-message-id': `message-${number}`, 'content-length': '100000' });
      response.flushHeaders();
      return drip(response, ' ');
    case 'reset-before':
    case 'reset-after':
      response.socket?.resetAndDestroy();
      return;
  }
}

async function drip(response: http.ServerResponse, text: string): Promise<void> {
  while (response.socket && !response.socket.destroyed) {
    response.socket.write(text);
    await delay(DRIP_MS);
  }
}
