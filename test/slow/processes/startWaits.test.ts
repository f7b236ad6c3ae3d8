import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { findFreePort } from '../../../src/embedded/freePort.js';
import { startRedis } from '../../support/redisServer.js';
import { startReplicatedPostgres } from '../../support/replicatedPostgres.js';
import { runRowpost, spawnRowpost } from '../../support/rowpostProcess.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

/** A process that is started before what it depends on. */
describe('waiting startup', () => {
  let testDatabase: TestDatabase;
  const running: Waiting[] = [];

  before(async () => {
    testDatabase = await createTestDatabase();
    const env = { DATABASE_URL: testDatabase.url, PXADMIN_PASSWORD: 'pxadmin-password' };
    expect((await runRowpost(['release'], env)).code).to.equal(0);
  });
  afterEach(() => Promise.all(running.splice(0).map((process) => process.end())));
  after(() => testDatabase.drop());

  interface Waiting {
    readonly log: () => string;
    end(): Promise<number | null>;
  }
  function start(part: string, env: Readonly<Record<string, string>>): Waiting {
    const child = spawnRowpost([part], { LOG_LEVEL: 'info', ...env });
    const exited = once(child, 'exit') as Promise<[number | null]>;
    let log = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text));
    const process = {
      log: () => log,
      async end() {
        child.kill('SIGTERM');
        return (await exited)[0];
      },
    };
    running.push(process);
    return process;
  }
  const probe = async (port: number, path: string): Promise<readonly [number, string]> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return [response.status, await response.text()];
  };

  it('for PostgreSQL: live but not ready, logged once, and then starts', async () => {
    const away = await findFreePort();
    const [port, healthPort] = [await findFreePort(), await findFreePort()];
    const env = { DATABASE_URL: Object.assign(new URL(testDatabase.url), { port: String(away) }).href };
    const web = start('web', { ...env, PORT: String(port) });
    const relay = start('relay', { ...env, HEALTH_PORT: String(healthPort) });
    const worker = start('worker', env);
    for (const process of [web, relay, worker]) {
      await waitFor('the log', () => process.log().includes('waiting for postgres'));
      expect(process.log()).to.include('ECONNREFUSED');
    }
    for (const at of [port, healthPort]) {
      await waitFor('probes', () => probe(at, '/livez'));
      expect(await probe(at, '/livez')).to.deep.equal([200, '{"status":"ok"}']);
      expect(await probe(at, '/readyz')).to.deep.equal([503, '{"status":"unavailable","down":["postgres"]}']);
    }
    const refused = await fetch(`http://127.0.0.1:${port}/query`, { method: 'POST', body: '{}' });
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1']);

    const { port: present } = new URL(testDatabase.url);
    const limiter = await createLimiter(away, Number(present));
    try {
      for (const process of [web, relay, worker]) {
        await waitFor('the start', () => process.log().includes('"started"'));
        expect(process.log().match(/waiting for postgres/g)).to.have.length(1);
      }
      for (const at of [port, healthPort]) expect((await probe(at, '/readyz'))[0]).to.equal(200);
      for (const process of running.splice(0)) expect(await process.end()).to.equal(0);
    } finally {
      limiter.close();
    }
  });

  it('for Redis', async () => {
    const redisPort = await findFreePort();
    const healthPort = await findFreePort();
    const relay = start('relay', {
      DATABASE_URL: testDatabase.url,
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      HEALTH_PORT: String(healthPort),
    });
    await waitFor('the log', () => relay.log().includes('waiting for queue'));
    await waitFor('probes', () => probe(healthPort, '/livez'));
    expect(await probe(healthPort, '/readyz')).to.deep.equal([
      503,
      '{"status":"unavailable","down":["queue"]}',
    ]);
    const redis = await startRedis(redisPort);
    try {
      await waitFor('the start', () => relay.log().includes('"started"'));
      await relay.end();
    } finally {
      await redis.stop();
    }
  });

  it('for a standby to be promoted', async () => {
    const postgres = await startReplicatedPostgres();
    try {
      const primary = { DATABASE_URL: postgres.primaryUrl('rowpost_template') };
      const released = await runRowpost(['release'], { ...primary, PXADMIN_PASSWORD: 'pxadmin-password' });
      expect(released.code, released.stderr).to.equal(0);
      const alone = `127.0.0.1:${postgres.standby!.port}`;
      const env = {
        DATABASE_URL: postgres.url('rowpost_template').replace(/127[^/]+/, alone),
        PXADMIN_PASSWORD: 'pxadmin-password',
      };
      const worker = start('worker', env);
      await waitFor('the log', () => worker.log().includes('No server of DATABASE_URL accepts writes'));
      await postgres.stopPrimary('SIGQUIT');
      await postgres.promote();
      await waitFor('the start', () => worker.log().includes('"started"'));
      await worker.end();
    } finally {
      await postgres.stop();
    }
  });

  it('stops immediately on a signal', async () => {
    const web = start('web', { DATABASE_URL: `postgres://u:p@127.0.0.1:${await findFreePort()}/shop` });
    await waitFor('the log', () => web.log().includes('waiting for postgres'));
    expect(await web.end()).to.equal(0);
  });
});

/** Lets connections through to another port. */
async function createLimiter(port: number, to: number): Promise<Server> {
  const limiter = createServer((client) => {
    const server = connect(to, '127.0.0.1');
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) socket.on('error', () => undefined);
  });
  limiter.listen(port, '127.0.0.1');
  await once(limiter, 'listening');
  return limiter;
}
