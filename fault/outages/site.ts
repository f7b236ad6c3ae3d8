import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { findFreePort } from '../../src/embedded/freePort.js';
import { createFleet, setUpConfirmations, type Fleet } from '../../test/processes/fleet.js';
import { startRedis, type RedisServer } from '../../test/support/redisServer.js';
import { runRowpost, spawnRowpost, type RowpostProcess } from '../../test/support/rowpostProcess.js';
import { startSeparateCluster, type SeparateCluster } from '../../test/support/separateCluster.js';
import { openTestDatabase } from '../../test/support/templateDatabase.js';

export type Part = 'web' | 'relay' | 'worker';
type Settings = Readonly<Record<string, string>>;

const PARTS: readonly Part[] = ['web', 'relay', 'worker'];

/** An installation as an operator has it: a web process, a relay and a worker on PostgreSQL, Redis and a carrier of its own. */
export interface Site {
  readonly cluster: SeparateCluster;
  readonly tenantid: number;
  readonly carrier: ProviderStub;
  readonly ports: Readonly<Record<Part, number>>;
  /** What `rowpost doctor` says, with further settings. */
  readonly doctor: (settings?: Settings) => Promise<string>;
  /** Kills the process. */
  kill(part: Part): Promise<void>;
  /** Starts it again, where it was. Rejects when it does not start. */
  start(part: Part, settings?: Settings): Promise<void>;
  /** Starts it again, without waiting for it to be up. */
  launch(part: Part, settings: Settings): void;
  release(): Promise<void>;
  /** Sets the tenant's key again. */
  setKey(): Promise<void>;
  killRedis(): Promise<void>;
  startRedis(): Promise<void>;
  /** Runs statements as the superuser in the installation's database. */
  sql(...statements: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** @param ordersPerSecond that are created, each of which sends an email */
export async function openSite(ordersPerSecond: number): Promise<Site> {
  const cluster = await startSeparateCluster();
  await letSuperuserIn(cluster);
  let redis: RedisServer | undefined = await startRedis();
  const carrier = await startProviderStub();
  const fleet = await createFleet({
    postgres: { url: cluster.url, database: openTestDatabase(cluster.url), drop: () => Promise.resolve() },
    redisUrl: redis.url,
    settings: { SENDGRID_BASE_URL: carrier.url, SEND_DEADLINE_MS: '5000' },
  });
  const redisPort = redis.port;
  const ports = { web: await findFreePort(), relay: await findFreePort(), worker: await findFreePort() };
  const portOf = (part: Part): Settings =>
    part === 'web' ? { PORT: String(ports.web) } : { HEALTH_PORT: String(ports[part]) };
  const running = new Map<Part, Pick<RowpostProcess, 'kill'>>();
  const start: Site['start'] = async (part, settings) => {
    running.set(part, await fleet.start(part, { ...portOf(part), ...settings }));
  };
  for (const part of PARTS) await start(part);
  await setUpConfirmations(fleet);
  const load = startLoad(fleet, ordersPerSecond);
  const superuser = new URL(cluster.superuserUrl);
  superuser.pathname = new URL(cluster.url).pathname;
  return {
    cluster,
    tenantid: fleet.tenantid,
    carrier,
    ports,
    start,
    launch(part, settings) {
      const child = spawnRowpost([part], { ...fleet.env, LOG_LEVEL: 'info', ...portOf(part), ...settings });
      running.set(part, {
        async kill(signal) {
          if (child.exitCode === null && child.signalCode === null) {
            child.kill(signal);
            await once(child, 'exit');
          }
          return child.exitCode;
        },
      });
    },
    async doctor(settings) {
      return (await runRowpost(['doctor'], { ...fleet.env, ...settings })).stdout;
    },
    async kill(part) {
      await running.get(part)?.kill('SIGKILL');
    },
    async release() {
      const { code, stderr } = await runRowpost(['release'], fleet.env);
      if (code !== 0) throw new Error(stderr);
    },
    async setKey() {
      await fleet.request('/roles_pbac', 'mutation { set_email_apikey(apikey: "SG.fleet") { apikey } }');
    },
    async killRedis() {
      await redis?.stop('SIGKILL');
      redis = undefined;
    },
    async startRedis() {
      redis = await startRedis(redisPort);
    },
    async sql(...statements) {
      const client = new pg.Client({ connectionString: superuser.href });
      await client.connect();
      try {
        for (const statement of statements) await client.query(statement);
      } finally {
        await client.end();
      }
    },
    async stop() {
      await load.stop();
      for (const part of PARTS) await running.get(part)?.kill('SIGKILL');
      await fleet.stop();
      await redis?.stop();
      await carrier.stop();
      await cluster.stop();
    },
  };
}

async function letSuperuserIn(cluster: SeparateCluster): Promise<void> {
  const file = path.join(cluster.data, 'pg_hba.conf');
  // The first line that fits decides.
  await writeFile(file, `host all postgres 127.0.0.1/32 trust\n${await readFile(file, 'utf8')}`);
  await cluster.stop();
  await cluster.start();
}

function startLoad(fleet: Fleet, perSecond: number): { stop(): Promise<void> } {
  let stopped = false;
  let id = 0;
  const loop = async (): Promise<void> => {
    while (!stopped) {
      const order = { order_id: ++id, customer_id: 1 + (id % 2) };
      // Refused while something is away, which is what is examined.
      void fleet
        .request('/query', 'mutation ($input: ordersInput) { create_orders(input: $input) { order_id } }', {
          input: order,
        })
        .catch(() => undefined);
      await delay(1000 / perSecond);
    }
  };
  const running = loop();
  return {
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** Responses every request with one status. */
export interface ProviderStub {
  readonly url: string;
  status: number;
  stop(): Promise<void>;
}

async function startProviderStub(): Promise<ProviderStub> {
  const server = http.createServer((request, response) => {
    request.resume();
    request.once('end', () => response.writeHead(carrier.status).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const carrier: ProviderStub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    status: 202,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return carrier;
}
