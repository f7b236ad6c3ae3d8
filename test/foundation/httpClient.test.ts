import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { HttpClient, Unencrypted } from '../../src/foundation/net/httpClient.js';
import { PrivateAddress } from '../../src/foundation/net/publicLookup.js';

const MAX_BYTES = 1_000;
const GET = { method: 'GET', headers: {} };
const DEADLINE = { deadlineMs: 5_000 };

describe('the HTTP client for servers of others', () => {
  let server: http.Server;
  let origin: string;
  let requests: string[] = [];

  before(async () => {
    server = http.createServer((request, response) => {
      requests.push(request.url ?? '');
      if (request.url === '/redirect') response.writeHead(302, { location: '/elsewhere' }).end('there');
      else if (request.url === '/large') response.end('x'.repeat(MAX_BYTES + 1));
      else if (request.url === '/cut')
        response.writeHead(200, { 'content-length': 9 }).end('short').destroy();
      else if (request.url !== '/hang') response.end('\ufeffhello');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    requests = [];
  });

  for (const keepAlive of [false, true]) {
    describe(keepAlive ? 'on connections that stay open' : 'on a connection for each request', () => {
      const client = new HttpClient({ allowPrivateNetwork: true, maxResponseBytes: MAX_BYTES, keepAlive });
      after(() => client.close());
      const call = (path: string, options = {}) =>
        client.call({ ...GET, url: new URL(path, origin) }, { ...DEADLINE, ...options });

      it('gives the whole text, without a byte order mark', async () => {
        expect(await call('/')).to.include({ status: 200, text: 'hello', started: true, late: false });
      });

      it('follows no redirect', async () => {
        expect(await call('/redirect')).to.include({ status: 302, text: 'there' });
        expect(requests).to.deep.equal(['/redirect']);
      });

      it('reads no more than its limit, and no part of a response for all of it', async () => {
        expect(await call('/large')).to.include({ status: 200, text: undefined, tooLarge: true });
        expect(await call('/cut')).to.include({ text: undefined, tooLarge: false });
      });

      it('waits no longer than its deadline', async () => {
        const exchange = await call('/hang', { deadlineMs: 100 });
        expect(exchange).to.include({ status: undefined, started: true, late: true });
      });

      it('writes nothing that may no longer start', async () => {
        expect(await call('/', { mayStart: () => false })).to.include({ started: false, fenced: true });
        expect(requests).to.deep.equal([]);
      });
    });
  }

  it('calls no private address, and none without encryption, unless allowed', async () => {
    const client = new HttpClient({ allowPrivateNetwork: false, maxResponseBytes: MAX_BYTES });
    const { port } = new URL(origin);
    for (const [url, kind] of [
      [origin, Unencrypted],
      [`https://127.0.0.1:${port}`, PrivateAddress],
      [`https://[::ffff:127.0.0.1]:${port}`, PrivateAddress],
      [`https://2130706433:${port}`, PrivateAddress],
      [`https://localhost:${port}`, PrivateAddress],
    ] as const) {
      const exchange = await client.call({ ...GET, url: new URL(url) }, DEADLINE);
      expect(exchange.error, url).to.be.instanceOf(kind);
      expect(exchange).to.include({ started: false, status: undefined });
    }
    expect(requests).to.deep.equal([]);
  });
});
