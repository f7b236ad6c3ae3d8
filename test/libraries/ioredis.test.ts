import { once } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import { findFreePort } from '../../src/embedded/freePort.js';
import { createRedisClient } from '../../src/queue/redisClient.js';
import { contractOf } from './contract.js';

const must = contractOf('ioredis');

describe('private parts of ioredis', () => {
  it('`options` of a client, changed before `duplicate()`', () => {
    const client = new Redis({ host: '127.0.0.1', port: 1, lazyConnect: true });
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    client.options.enableReadyCheck = false;
    cluster.options.enableReadyCheck = false;
    // Lazy as well, so that none of them connects.
    const copies = { Redis: client.duplicate(), Cluster: cluster.duplicate() };
    for (const [name, copy] of Object.entries(copies)) {
      const isCopied = copy.options.enableReadyCheck === false;
      must(isCopied, `${name}.duplicate() no longer copies options as they are now`);
    }
    for (const one of [client, cluster, ...Object.values(copies)]) one.disconnect();
  });

  it('events `sentinelError` and `node error`', async () => {
    const host = `127.0.0.1:${await findFreePort()}`;
    const options = { connectTimeoutMs: 5_000, waitsForConnection: false };
    const told = async (kind: 'sentinel' | 'cluster', event: string): Promise<Error | undefined> => {
      const client = createRedisClient(
        `redis+${kind}://${host}${kind === 'sentinel' ? '/primary' : ''}`,
        options,
      );
      client.on('error', () => undefined);
      const ended = new AbortController();
      const [first] = await Promise.all([
        once(client, event, { signal: ended.signal }).catch(() => []),
        client.connect().catch(() => ended.abort()),
      ]);
      client.disconnect();
      return first[0] as Error | undefined;
    };
    const ofSentinel = await told('sentinel', 'sentinelError');
    must(
      ofSentinel instanceof Error,
      'a client of Sentinels that do not respond no longer emits sentinelError',
    );
    const ofNode = await told('cluster', 'node error');
    must(ofNode instanceof Error, 'a client of a cluster that does not respond no longer emits node error');
  });
});
