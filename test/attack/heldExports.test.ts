import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createSendCsv } from '../../src/api/console/exportPages.js';
import type { Visit } from '../../src/api/console/pageHandlers.js';
import type { RouteDeps } from '../../src/api/http/routeDeps.js';
import { testConfig } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';

const PLACES = 4;

/** Whoever asked first got a place that was free: four tenants that asked all the time had all of them. */
describe('attack: four tenants that export lists all the time', () => {
  it('do not keep a fifth one from it', async () => {
    const ends = new Map<number, () => void>();
    let asked = 0;
    const sendCsv = createSendCsv({
      config: testConfig({}),
      consoleSessions: { read: () => Promise.resolve({}) },
    } as unknown as RouteDeps);
    async function* rowsOf(tenantid: number): AsyncGenerator<readonly (readonly string[])[], void> {
      yield [[String(tenantid)]];
      await new Promise<void>((resolve) => ends.set(tenantid, resolve));
    }
    const server = createServer((req, res) => {
      asked += 1;
      const tenantid = Number(req.url?.slice(1));
      const visit = {
        session: { principal: { tenantid } },
        inTurn: <T>(work: () => T) => Promise.resolve(work()),
      } as unknown as Visit;
      const list = { columns: ['tenantid'], parts: rowsOf(tenantid) };
      sendCsv(visit, req as never, res as never, 'list', list).catch(() => res.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const begin = async (tenantid: number): Promise<IncomingMessage> => {
      const sent = request({ port, host: '127.0.0.1', path: `/${tenantid}` }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return response.resume();
    };
    try {
      const hostile = Array.from({ length: PLACES }, (_, index) => index + 1);
      await Promise.all(hostile.map(begin));
      await waitFor('all places to be taken', () => ends.size === PLACES);
      const others = hostile.map(begin);
      await waitFor('those who have one to ask for another', () => asked === 2 * PLACES);
      const honest = begin(5);
      await waitFor('the fifth to ask', () => asked === 2 * PLACES + 1);
      ends.get(1)!();
      expect((await honest).statusCode).to.equal(200);
      await waitFor('its list', () => ends.has(5));
      for (const end of ends.values()) end();
      await Promise.all(others);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
