import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** `cut` breaks the connection instead of answering, `hang` says nothing. */
export type ApiResponse =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | 'cut'
  | 'hang';

/** A carrier's API: a real HTTP server that reads a request and responds as it is told. */
export interface FakeApi {
  readonly url: string;
  readonly calls: readonly ApiCall[];
  reply: (call: ApiCall) => ApiResponse;
  stop(): Promise<void>;
}

export async function startFakeApi(): Promise<FakeApi> {
  const calls: ApiCall[] = [];
  const sockets = new Set<Socket>();
  const handle = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = '', url = '', headers } = request;
    const call = { method, path: url, headers, body: Buffer.concat(parts) };
    calls.push(call);
    const reply = api.reply(call);
    if (reply === 'hang') return;
    if (reply === 'cut') return void response.socket?.resetAndDestroy();
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {}));
  };
  const server = http.createServer((request, response) => {
    // A client that is killed breaks its request off.
    handle(request, response).catch(() => undefined);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  const api: FakeApi = {
    get url() {
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    },
    calls,
    reply: () => ({ status: 200 }),
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return api;
}
