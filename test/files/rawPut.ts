import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

/** A PUT whose bytes the test sends one by one, as a bad client would. */
export interface RawPut {
  readonly socket: Socket;
  send(bytes: Buffer): void;
  /** The response's status and body, when it has come whole. */
  response(): Promise<{ status: number; code: string | undefined }>;
}

/** @param headers as lines, e.g. `content-length: 5` */
export async function startRawPut(url: string, headers: readonly string[]): Promise<RawPut> {
  const { port, pathname } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.write([`PUT ${pathname} HTTP/1.1`, 'host: localhost', ...headers, '', ''].join('\r\n'));
  return {
    socket,
    send: (bytes) => socket.write(bytes),
    async response() {
      await Promise.race([closed, whole(socket, () => received)]);
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1]);
      return { status, code: /"code":"(\w+)"/.exec(received)?.[1] };
    },
  };
}

function whole(socket: Socket, received: () => string): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      const [head, body = ''] = received().split('\r\n\r\n');
      const length = /content-length: (\d+)/i.exec(head ?? '')?.[1];
      if (length !== undefined && body.length >= Number(length)) resolve();
    };
    socket.on('data', look);
    look();
  });
}
