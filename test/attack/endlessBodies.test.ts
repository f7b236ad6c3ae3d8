import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect } from 'chai';
import { RequestRecord, setRecord } from '../../src/api/http/requestRecord.js';
import { UnreadBodies } from '../../src/api/http/unreadBodies.js';
import { NO_PROXIES } from '../../src/foundation/net/trustedProxies.js';

const MIB = 1024 * 1024;
/** What is read of all bodies at a time. */
const MAX_BYTES = 64 * MIB;
/** What systems buffer for one connection, on both sides. */
const BUFFERED_BYTES = 8 * MIB;

describe('attack: a client sends on without end after its response', () => {
  let server: Server | undefined;
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server?.close();
  });

  /** A server that refuses every request before it has read the body. */
  async function listen(times: { drainMs: number; silenceMs: number }): Promise<number> {
    const unread = new UnreadBodies(NO_PROXIES, times);
    server = createServer((req, res) => {
      const record = new RequestRecord('1', 'POST', '/');
      const { tenant } = req.headers;
      if (tenant !== undefined) record.setPrincipal({ tenantid: Number(tenant), roleid: 1 });
      setRecord(res, record);
      unread.drainAfterResponse(req, res);
      res.writeHead(413, { connection: String(req.headers['x-then']), 'content-length': 0 }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  /** Sends a piece whenever there is room for one, or again and again. @returns the bytes that were sent until the server broke off */
  async function sendOn(
    port: number,
    {
      piece,
      everyMs,
      then = 'close',
      tenant,
    }: { piece: number; everyMs?: number; then?: string; tenant?: string },
  ): Promise<{ bytes: number; ms: number; response: string }> {
    // It doesn't end when the server does.
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(socket);
    let response = '';
    socket.on('error', () => undefined).on('data', (data: Buffer) => (response += data.toString('latin1')));
    const startedAt = performance.now();
    const more = tenant === undefined ? '' : `tenant: ${tenant}\r\n`;
    socket.write(
      `POST / HTTP/1.1\r\nhost: x\r\n${more}x-then: ${then}\r\ncontent-length: 99999999999\r\n\r\n`,
    );
    const bytes = Buffer.alloc(piece);
    const send = (): void => {
      if (socket.writable)
        socket.write(bytes, () => (everyMs === undefined ? send() : setTimeout(send, everyMs)));
    };
    send();
    await new Promise((resolve) => socket.once('close', resolve));
    return { bytes: socket.bytesWritten, ms: performance.now() - startedAt, response: response.slice(0, 12) };
  }

  for (const then of ['close', 'keep-alive']) {
    it(`and is read up to a limit of bytes, then left to itself (${then})`, async () => {
      const port = await listen({ drainMs: 60_000, silenceMs: 300 });
      const { bytes, response } = await sendOn(port, { piece: MIB, then });
      expect(response).to.equal('HTTP/1.1 413');
      expect(bytes).to.be.within(MAX_BYTES, MAX_BYTES + BUFFERED_BYTES);
    });

    it(`a byte at a time, up to a limit of time (${then})`, async () => {
      const port = await listen({ drainMs: 500, silenceMs: 60_000 });
      const { ms } = await sendOn(port, { piece: 1, everyMs: 20, then });
      expect(ms).to.be.within(450, 30_000);
    });

    it(`or nothing at all (${then})`, async () => {
      const port = await listen({ drainMs: 60_000, silenceMs: 200 });
      const accepted = once(server!, 'connection') as Promise<[Socket]>;
      void sendOn(port, { piece: 1, everyMs: 60_000, then });
      const [connection] = await accepted;
      const startedAt = performance.now();
      await once(connection, 'close');
      expect(performance.now() - startedAt).to.be.within(150, 30_000);
    });
  }

  it('on many connections, which share the limit; those of others have their own', async () => {
    const port = await listen({ drainMs: 60_000, silenceMs: 300 });
    for (const [mine, other] of [
      [undefined, '2'],
      ['1', undefined],
      ['1', '2'],
    ]) {
      const many = Promise.all(
        Array.from({ length: 6 }, () =>
          sendOn(port, { piece: MIB, ...(mine === undefined ? {} : { tenant: mine }) }),
        ),
      );
      const one = await sendOn(port, { piece: MIB, ...(other === undefined ? {} : { tenant: other }) });
      const sent = (await many).reduce((sum, { bytes }) => sum + bytes, 0);
      expect(sent).to.be.below(MAX_BYTES + 6 * BUFFERED_BYTES);
      expect(one.bytes).to.be.above(MAX_BYTES / 8);
      expect(one.response).to.equal('HTTP/1.1 413');
    }
  });
});
