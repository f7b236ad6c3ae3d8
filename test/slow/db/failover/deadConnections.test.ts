import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { createConnector, type Connector } from '../../../../src/db/pool/connector.js';
import type { Stoppable } from '../../../../src/foundation/lifecycle/shutdown.js';
import { testLog } from '../../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../../support/testDatabase.js';

/** Longer than a statement may take before the server is asked about it. */
const LONG_S = 8;

describe('a network that drops packets', () => {
  let db: TestDatabase;
  let network: Server;
  const pipes: [Socket, Socket][] = [];
  let connector: Connector;
  let watch: Stoppable;

  before(async () => {
    db = await createTestDatabase();
    const { port } = new URL(db.url);
    network = createServer((client) => {
      const server = connect(Number(port), '127.0.0.1');
      client.pipe(server).pipe(client);
      for (const socket of [client, server]) socket.on('error', () => undefined);
      pipes.push([client, server]);
    });
    network.listen(0, '127.0.0.1');
    await once(network, 'listening');
    const url = Object.assign(new URL(db.url), { port: String((network.address() as AddressInfo).port) });
    connector = createConnector({ url: url.href, config: {}, poolTimeoutMs: 5_000, log: testLog });
    watch = connector.watchResponses();
  });
  after(async () => {
    await watch.stop();
    for (const socket of pipes.flat()) socket.destroy();
    network.close();
    await db.drop();
  });

  it('breaks connections whose response it lost, and none that PostgreSQL works for', async () => {
    const [lost, working] = [connector.createClient(), connector.createClient()];
    await lost.connect();
    const [client, server] = pipes[0]!;
    client.unpipe(server);
    server.unpipe(client);
    await working.connect();
    const [response, result] = await Promise.allSettled([
      lost.query('select 1'),
      working.query(`select pg_sleep(${LONG_S})`),
    ]);
    expect(response.status).to.equal('rejected');
    expect(result.status).to.equal('fulfilled');
    await working.end();
  });
});
