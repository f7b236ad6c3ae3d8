import { randomInt } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findFreePort } from '../../src/embedded/freePort.js';
import { throwawayDataDir } from './preparedCluster.js';
import { startRedis, startSentinel, type RedisServer } from './redisServer.js';
import { waitFor } from './waitFor.js';

/** Several servers that look like one queue, and replace the one that holds it. */
export interface RedisTopology {
  /** `REDIS_URL` */
  readonly url: string;
  /** Ends or stops the primary that holds the queue; resolves once another has taken its place. */
  killPrimary(how?: 'SIGKILL' | 'SIGSTOP'): Promise<void>;
  /** Starts or wakes what was killed or stopped, as a replica; resolves once it follows the new primary. */
  restoreKilled(): Promise<void>;
  /** Moves the queue to another primary while it is used, key by key. Only a cluster's. */
  moveQueue?(): Promise<void>;
  stop(): Promise<void>;
}

/** After which a server counts as gone. */
const DOWN_AFTER_MS = 1_000;
const PRIMARY_NAME = 'rowpost-test';
const SENTINELS = 3;
const OFTEN = { intervalMs: 50 };

/** A primary with a replica, and three Sentinels, of which two have to agree. */
export async function startRedisWithSentinels(): Promise<RedisTopology> {
  const folder = await throwawayDataDir();
  await mkdir(folder, { recursive: true });
  const servers: RedisServer[] = [await startRedis()];
  servers.push(await startRedis(undefined, replicaOf(servers[0]!.port)));
  const sentinels: RedisServer[] = [];
  for (let i = 0; i < SENTINELS; i++) sentinels.push(await startOneSentinel(folder, servers[0]!.port));
  const observer = connect(sentinels[0]!.port);
  const state = (): Promise<Record<string, string>> =>
    observer.call('SENTINEL', 'MASTER', PRIMARY_NAME).then(toRecord);
  await waitFor(
    'Sentinels that know each other and the replica',
    async () => {
      const { 'num-slaves': replicas, 'num-other-sentinels': others } = await state();
      return replicas === '1' && others === String(SENTINELS - 1);
    },
    OFTEN,
  );
  let killedPort = 0;
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${PRIMARY_NAME}`,
    async killPrimary(how = 'SIGKILL') {
      killedPort = Number((await state())['port']);
      await strike(
        servers.find(({ port }) => port === killedPort)!,
        how,
      );
      await waitFor('a new primary', async () => Number((await state())['port']) !== killedPort, OFTEN);
    },
    async restoreKilled() {
      const index = servers.findIndex(({ port }) => port === killedPort);
      const { port } = await state();
      if (!wake(servers[index]!)) servers[index] = await startRedis(killedPort, replicaOf(Number(port)));
      await waitForReplication(killedPort);
    },
    async stop() {
      observer.disconnect();
      await Promise.all([...sentinels, ...servers].map((server) => server.stop('SIGKILL')));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startOneSentinel(folder: string, primaryPort: number): Promise<RedisServer> {
  const port = await findFreePort();
  const file = path.join(folder, `sentinel-${port}.conf`);
  await writeFile(
    file,
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${folder}`,
      `sentinel monitor ${PRIMARY_NAME} 127.0.0.1 ${primaryPort} 2`,
      `sentinel down-after-milliseconds ${PRIMARY_NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${PRIMARY_NAME} 5000`,
      '',
    ].join('\n'),
  );
  return startSentinel(port, file);
}

const CLUSTER_SLOTS = 16_384;
const CLUSTER_PRIMARIES = 3;
/** Few, so that clients meet a queue of which each node has a part. */
const MOVED_AT_ONCE = 2;
const MOVE_PAUSE_MS = 5;
const MIGRATE_TIMEOUT_MS = 5_000;

/** Three primaries with a replica each. @param queueKey a key of the queue: who holds it is who gets killed */
export async function startRedisCluster(queueKey: string): Promise<RedisTopology> {
  const folder = await throwawayDataDir();
  await mkdir(folder, { recursive: true });
  const start = (port: number): Promise<RedisServer> =>
    startRedis(port, {
      'cluster-enabled': 'yes',
      'cluster-config-file': path.join(folder, `nodes-${port}.conf`),
      'cluster-node-timeout': String(DOWN_AFTER_MS),
      // A replica that has been cut off for long may take over as well: its jobs come back from the ledger.
      'cluster-replica-validity-factor': '0',
      databases: '1',
      dir: folder,
    });
  const servers: RedisServer[] = [];
  while (servers.length < 2 * CLUSTER_PRIMARIES) servers.push(await start(await findClusterPort()));
  const clients = new Map(servers.map(({ port }) => [port, connect(port)]));
  const on = (port: number): Redis => clients.get(port)!;
  const [first, ...others] = servers.map(({ port }) => port);
  for (const port of others) await on(port).cluster('MEET', '127.0.0.1', first!);
  const ports = [first!, ...others];
  const ids = new Map(
    await Promise.all(ports.map(async (port) => [port, await on(port).cluster('MYID')] as const)),
  );
  for (let i = 0; i < CLUSTER_PRIMARIES; i++) {
    const from = Math.ceil((i * CLUSTER_SLOTS) / CLUSTER_PRIMARIES);
    const to = Math.ceil(((i + 1) * CLUSTER_SLOTS) / CLUSTER_PRIMARIES) - 1;
    await on(ports[i]!).call('CLUSTER', 'ADDSLOTSRANGE', from, to);
  }
  for (let i = 0; i < CLUSTER_PRIMARIES; i++) {
    const primary = ids.get(ports[i]!)!;
    await waitFor(
      'a replica that knows its primary',
      () => on(ports[i + CLUSTER_PRIMARIES]!).cluster('REPLICATE', primary),
      OFTEN,
    );
  }
  for (const port of ports) {
    await waitFor('the cluster', async () => /cluster_state:ok/.test(await on(port).cluster('INFO')), OFTEN);
  }
  for (const port of ports.slice(CLUSTER_PRIMARIES)) await waitForReplication(port);

  const slot = await on(ports[0]!).cluster('KEYSLOT', queueKey);
  const holder = async (asked: number): Promise<number | undefined> => {
    const ranges = await on(asked).cluster('SLOTS');
    return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[1];
  };
  let killedPort = 0;
  return {
    url: `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    async killPrimary(how = 'SIGKILL') {
      killedPort = (await holder(ports[0]!))!;
      await strike(
        servers.find(({ port }) => port === killedPort)!,
        how,
      );
      const asked = ports.find((port) => port !== killedPort)!;
      await waitFor('a new primary', async () => (await holder(asked)) !== killedPort, OFTEN);
    },
    async restoreKilled() {
      const index = servers.findIndex(({ port }) => port === killedPort);
      if (!wake(servers[index]!)) servers[index] = await start(killedPort);
      await waitForReplication(killedPort);
    },
    async moveQueue() {
      const [asked = 0] = ports;
      const from = (await holder(asked))!;
      const primaries = (await on(asked).cluster('SLOTS')).flatMap(([, , primary]) => primary?.[1] ?? []);
      const to = primaries.find((port) => port !== from)!;
      await on(to).cluster('SETSLOT', slot, 'IMPORTING', ids.get(from)!);
      await on(from).cluster('SETSLOT', slot, 'MIGRATING', ids.get(to)!);
      for (;;) {
        const keys = await on(from).cluster('GETKEYSINSLOT', slot, MOVED_AT_ONCE);
        if (keys.length === 0) break;
        await on(from).migrate('127.0.0.1', to, '', 0, MIGRATE_TIMEOUT_MS, 'KEYS', ...keys);
        await delay(MOVE_PAUSE_MS);
      }
      // The one that holds it first, as Redis asks: it raises the epoch.
      for (const port of [to, ...primaries.filter((other) => other !== to)]) {
        await on(port).cluster('SETSLOT', slot, 'NODE', ids.get(to)!);
      }
      await waitFor('the move', async () => (await holder(asked)) === to, OFTEN);
    },
    async stop() {
      for (const client of clients.values()) client.disconnect();
      await Promise.all(servers.map((server) => server.stop('SIGKILL')));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function strike(server: RedisServer, how: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
  if (how === 'SIGKILL') await server.stop('SIGKILL');
  else process.kill(server.pid, how);
}

/** @returns false if it was not stopped, but killed */
function wake({ pid }: RedisServer): boolean {
  try {
    process.kill(pid, 'SIGCONT');
    return true;
  } catch {
    return false;
  }
}

/** A node's bus is so far above its port. */
const BUS_OFFSET = 10_000;
/** Both below the ports that Linux gives to outgoing connections, one of which could take it before the node does. */
const LOWEST_PORT = 12_000;

async function findClusterPort(): Promise<number> {
  for (;;) {
    const port = LOWEST_PORT + randomInt(BUS_OFFSET);
    if ((await isFree(port)) && (await isFree(port + BUS_OFFSET))) return port;
  }
}

const isFree = async (port: number): Promise<boolean> => (await findFreePort(port)) === port;

function replicaOf(port: number): Readonly<Record<string, string>> {
  return { replicaof: `127.0.0.1 ${port}` };
}

async function waitForReplication(port: number): Promise<void> {
  const client = connect(port);
  try {
    await waitFor(
      'a replica that follows its primary',
      async () => /master_link_status:up/.test(await client.info('replication')),
      OFTEN,
    );
  } finally {
    client.disconnect();
  }
}

function connect(port: number): Redis {
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 100 });
  client.on('error', () => undefined); // what it is asked then fails, and is asked again
  return client;
}

function toRecord(response: unknown): Record<string, string> {
  const items = response as string[];
  return Object.fromEntries(items.flatMap((item, i) => (i % 2 === 0 ? [[item, items[i + 1]!]] : [])));
}
