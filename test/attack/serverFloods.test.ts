import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect } from 'chai';
import type { SmtpAccount } from '../../src/email/carriers/smtp/account.js';
import { smtp } from '../../src/email/carriers/smtp/smtp.js';
import { HttpClient, type Exchange } from '../../src/foundation/net/httpClient.js';
import { openCarrier } from '../support/openCarrier.js';
import { startKeyUpdates } from '../support/tlsFlood.js';

/** Of a call. What nothing ends before holds the process for as long. */
const DEADLINE_MS = 5_000;
/** Half a megabyte; of more, one turn of the event loop reads two megabytes. */
const KEY_UPDATES = 20_000;

describe("attack: a tenant's server, or an identity provider, that sends what no limit on a response counts", () => {
  const client = new HttpClient({ allowPrivateNetwork: true, maxResponseBytes: 256 * 1024, anyServer: true });
  after(() => client.close());

  async function callServer({ start = '', flood = '' }): Promise<Exchange> {
    const bytes = Buffer.from(flood.repeat(10_000));
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      const send = (): void => {
        while (!socket.destroyed && socket.write(bytes));
        socket.once('drain', send);
      };
      socket.once('data', () => {
        socket.write(start);
        if (flood !== '') send();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      const url = new URL(`http://127.0.0.1:${port}/`);
      return await client.call({ method: 'GET', url, headers: {} }, { deadlineMs: DEADLINE_MS });
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  }

  for (const [what, flood] of [
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ] as const) {
    it(`interim responses without end: ${what}`, async () => {
      expect(await callServer({ flood })).to.include({ tooLarge: true, late: false, text: undefined });
    });
  }

  it('a body in pieces of one byte, each of which takes a microsecond or two', async () => {
    const pieces = '1\r\na\r\n'.repeat(100_000);
    const exchange = await callServer({
      start: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`,
    });
    expect(exchange).to.include({ status: 200, tooLarge: true, late: false, text: undefined });
  });

  describe('new keys of TLS without end', () => {
    let server: Awaited<ReturnType<typeof startKeyUpdates>>;
    before(async () => (server = await startKeyUpdates(KEY_UPDATES)));
    after(() => server.close());

    it('as an identity provider', async () => {
      const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
      try {
        const url = new URL(`https://127.0.0.1:${server.port}/`);
        const exchange = await client.call({ method: 'GET', url, headers: {} }, { deadlineMs: DEADLINE_MS });
        expect(exchange).to.include({ tooLarge: true, late: false });
      } finally {
        if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
        else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
      }
    });

    it('as an SMTP server', async () => {
      const carrier = openCarrier(smtp);
      const account: SmtpAccount = {
        kind: 'smtp',
        host: '127.0.0.1',
        port: server.port,
        security: 'tls',
        verifyCertificate: false,
        maxConnections: 1,
      };
      const outcome = await carrier.verify(account, DEADLINE_MS);
      carrier.close();
      expect(outcome).to.deep.equal({ ok: false, message: 'the connection broke (ESOCKET)' });
    });
  });
});
