import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { JoinedRequest } from '../../src/api/http/joinedRequest.js';
import { ReceivedBytes } from '../../src/foundation/net/receivedBytes.js';
import { WebFixture } from '../api/webFixture.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that each of so many takes, of those that remain. */
function heldBy(count: number, before: NodeJS.MemoryUsage): number {
  collectGarbage();
  const now = process.memoryUsage();
  return (now.heapUsed + now.external - before.heapUsed - before.external) / count;
}

function measured(): NodeJS.MemoryUsage {
  collectGarbage();
  return process.memoryUsage();
}

const HEAD = ['host: x', 'content-type: application/json', 'transfer-encoding: chunked', '', ''].join('\r\n');

describe('attack: bodies in pieces of a byte', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const open = (port: number, request: string): Socket => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    socket.write(request);
    return socket;
  };
  const sendChunks = async (socket: Socket, count: number): Promise<void> => {
    const part = '1\r\n \r\n'.repeat(1_000);
    for (let sent = 0; sent < count; sent += 1_000) if (!socket.write(part)) await once(socket, 'drain');
  };

  describe('as chunks of a request', () => {
    let fixture: WebFixture;
    before(async () => {
      fixture = await WebFixture.start();
    });
    after(() => fixture.stop());

    it('take no more memory than their bytes', async () => {
      const chunks = 200_000;
      const socket = open(fixture.web.port, `POST /events/sendgrid/1 HTTP/1.1\r\n${HEAD}`);
      await sendChunks(socket, 1_000);
      const before = measured();
      await sendChunks(socket, chunks);
      await delay(500);
      expect(heldBy(chunks, before)).to.be.below(100);
    });

    it('are all read', async () => {
      const body = '{"tenantid": 1, "login": "nobody here", "password": "any password"}';
      const chunks = Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('');
      const socket = open(fixture.web.port, `POST /auth HTTP/1.1\r\n${HEAD}${chunks}0\r\n\r\n`);
      const [response] = (await once(socket, 'data')) as [Buffer];
      expect(response.toString())
        .to.match(/^HTTP\/1\.1 401/)
        .and.contain('LOGIN_FAILED');
    });
  });

  describe('as chunks that nobody reads yet', () => {
    let server: Server;
    let request: IncomingMessage | undefined;
    before(async () => {
      server = createServer({ IncomingMessage: JoinedRequest }, (req) => (request = req)).listen(
        0,
        '127.0.0.1',
      );
      await once(server, 'listening');
    });
    after(() => {
      server.closeAllConnections();
      server.close();
    });

    it('are one piece for each read from the socket, and arrive whole', async () => {
      const count = 100_000;
      const socket = open((server.address() as AddressInfo).port, `POST / HTTP/1.1\r\n${HEAD}`);
      void sendChunks(socket, count).then(() => socket.write('0\r\n\r\n'));
      await delay(300);
      const received = new ReceivedBytes();
      let pieces = 0;
      for await (const piece of request ?? []) {
        received.add(piece as Buffer);
        pieces += 1;
      }
      expect(received.length).to.equal(count);
      expect(pieces).to.be.below(count / 100);
    });
  });

  it('of what providers and carriers send are kept together', () => {
    const count = 300_000;
    const received = new ReceivedBytes();
    const before = measured();
    for (let at = 0; at < count; at++) received.add(Buffer.from([at % 256]));
    expect(heldBy(count, before)).to.be.below(10);
    const bytes = received.toBuffer();
    expect(bytes.length).to.equal(count);
    expect(bytes[299]).to.equal(299 % 256);
  });
});
