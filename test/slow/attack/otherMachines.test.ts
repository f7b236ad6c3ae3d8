import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { loadConfig } from '../../../src/process/loadConfig.js';
import { serveWhileWaiting, startHealthServer } from '../../../src/health/healthServer.js';
import { WebFixture } from '../../api/webFixture.js';
import { listeningSockets } from '../../support/listeningSockets.js';
import { spawnRowpost } from '../../support/rowpostProcess.js';
import { testConfig, testLog } from '../../support/testConfig.js';

const LOOPBACK = '127.0.0.1';
/** What others reach this machine by, and local addresses besides the one that is listened on. */
const OTHER_ADDRESSES = [
  ...new Set([
    '127.0.0.2',
    '::1',
    ...Object.values(os.networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .map(({ address, family, scopeid }) =>
        family === 'IPv6' && scopeid ? `${address}%${String(scopeid)}` : address,
      ),
  ]),
].filter((address) => address !== LOOPBACK && !address.includes('%'));

async function accepts(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  const isConnected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

async function expectOnlyLocal(port: number): Promise<void> {
  expect(await accepts(LOOPBACK, port), `port ${port}`).to.equal(true);
  for (const address of OTHER_ADDRESSES) {
    expect(await accepts(address, port), `${address} port ${port}`).to.equal(false);
  }
}

describe('attack: another machine connects to a process that serves only this one', () => {
  describe('in every server that a process has', () => {
    let fixture: WebFixture;
    before(async () => (fixture = await WebFixture.start()));
    after(() => fixture.stop());

    it('web', () => expectOnlyLocal(fixture.web.port));

    it('probes and metrics', async () => {
      const { database } = fixture.testDatabase;
      const deps = { database, config: testConfig(), log: testLog, checks: {} };
      const server = await startHealthServer(deps, 'relay', 0);
      await expectOnlyLocal(server.port);
      await server.stop();
    });

    it('probes while it waits for its database', async () => {
      const port = 18_431;
      const stop = await serveWhileWaiting({ host: testConfig().host, port }, 'postgres', testLog);
      await expectOnlyLocal(port);
      await stop();
    });
  });

  if (process.platform === 'linux') {
    for (const command of ['demo', 'all']) {
      it(`rowpost ${command}, with its PostgreSQL`, async () => {
        const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-listens-'));
        await chmod(folder, 0o755);
        const env = {
          ROWPOST_DATA_DIR: path.join(folder, '.rowpost'),
          NODE_ENV: '',
          SECRET_KEYS: '',
          LOG_LEVEL: 'info',
        };
        const child = spawnRowpost([command], env);
        const exited = once(child, 'exit');
        try {
          await new Promise<void>((resolve) => {
            for (const stream of [child.stdout, child.stderr]) {
              let text = '';
              stream?.on('data', (part: Buffer) => {
                text += part.toString();
                if (text.includes('"started"') || text.includes('/mailbox')) resolve();
              });
            }
          });
          const sockets = listeningSockets(child.pid!);
          expect(sockets).to.have.length(2);
          expect(sockets.map(({ host }) => host)).to.deep.equal([LOOPBACK, LOOPBACK]);
          for (const { port } of sockets) await expectOnlyLocal(port);
        } finally {
          child.kill('SIGTERM');
          await exited;
          await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
        }
      });
    }
  }

  it('unless it is told to: HOST and HEALTH_HOST', async () => {
    const everywhere = await WebFixture.start({ env: { HOST: '::' } });
    const onIpv6 = await WebFixture.start({ env: { HOST: '::1' } });
    try {
      for (const address of OTHER_ADDRESSES) {
        expect(await accepts(address, everywhere.web.port), address).to.equal(true);
      }
      expect(await accepts('::1', onIpv6.web.port)).to.equal(true);
      expect(await accepts(LOOPBACK, onIpv6.web.port)).to.equal(false);
    } finally {
      await onIpv6.stop();
      await everywhere.stop();
    }
  });

  it('or serves a production database, behind a platform’s router', () => {
    const production = {
      NODE_ENV: 'production',
      DATABASE_URL: 'postgres://rowpost@db.example/rowpost',
      BASE_URL: 'https://rowpost.example',
      SECRET_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
      STORAGE_URL: 'file:files',
    };
    const hosts = (env: Record<string, string>): unknown => {
      const { host, healthHost } = loadConfig(env);
      return [host, healthHost];
    };
    expect(hosts(production)).to.deep.equal(['::', '::']);
    expect(hosts({ ...production, HOST: '127.0.0.1' })).to.deep.equal([LOOPBACK, LOOPBACK]);
    expect(hosts({ ...production, HEALTH_HOST: '10.0.0.1' })).to.deep.equal(['::', '10.0.0.1']);
    expect(hosts({ ...production, NODE_ENV: '' })).to.deep.equal([LOOPBACK, LOOPBACK]);
    expect(() => loadConfig({ HOST: 'localhost' })).to.throw('HOST is not an IP address');
  });
});
