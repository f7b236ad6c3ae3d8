// The hand-written program that `pipeline drain` and `latency` compare with: killed in the windows W1 to W9, nothing may be lost.
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { startRedis } from '../../test/support/redisServer.js';
import { startCarrier, type Carrier } from '../pipeline/carrier.js';
import { newItem } from '../pipeline/emailShop.js';
import type { Backend } from '../pipeline/options.js';
import { readTimedSubject } from '../pipeline/timedSubject.js';
import type { ChildServer } from '../support/childServer.js';
import { describeMachine } from '../support/report.js';
import { createTwin, type Twin } from './twin.js';

const SECONDS = 12;
const PER_SECOND = 40;
const CONCURRENCY = 64;
/** Items between two times that Redis loses all it has. */
const WIPE_EVERY = 100;
const WAIT_MS = 90_000;

type Part = 'web' | 'relay' | 'worker';
const WINDOWS: readonly (readonly [name: string, part: Part | undefined])[] = [
  ['W1', 'web'],
  ['W2', 'web'],
  ['W3', 'relay'],
  ['W4', 'relay'],
  ['W5', undefined],
  ['W6', 'worker'],
  ['W7', 'worker'],
  ['W8', 'worker'],
  ['W9', 'worker'],
];

console.log(describeMachine());
const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-twin-'));
const postgres = await startEmbeddedPostgres({
  dataDir: folder,
  say: (line) => process.stderr.write(`${line}\n`),
});
const redis = await startRedis();
const carrier = await startCarrier();
console.log(
  '\n| queue | window | deaths | items | lost | never committed | twice | twice on record |\n' +
    '| --- '.repeat(8) +
    '|',
);
try {
  for (const backend of ['redis', 'postgres'] as const) {
    for (const [window, part] of WINDOWS) {
      if (window === 'W5' && backend === 'postgres') continue;
      const found = await strike(backend, window, part);
      console.log(`| ${backend} | ${window} | ${Object.values(found).join(' | ')} |`);
      if (found.lost > 0 || found.uncommitted > 0 || found.twice > found.recorded) process.exitCode = 1;
    }
  }
} finally {
  await carrier.stop();
  await redis.stop();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

/** Items at a steady rate, while the part dies in its window now and then and is started again. */
async function strike(backend: Backend, window: string, part: Part | undefined) {
  const twin = await createTwin(
    { installation: { databaseUrl: postgres.url }, redis, carrier },
    backend,
    CONCURRENCY,
  );
  const parts: Supervised[] = [];
  let isDying = true;
  try {
    await carrier.reset();
    for (const name of ['web', 'relay', 'worker'] as const) {
      parts.push(await supervise(() => twin.start(name, name === part && isDying ? window : undefined)));
    }
    let wipes = 0;
    for (let turn = 0; turn < SECONDS * PER_SECOND; turn++) {
      const request = fetch(parts[0]?.url() ?? '', { method: 'POST', body: JSON.stringify(newItem(turn)) });
      // A web process that dies leaves some without a response: whether they are committed, the database tells.
      request.catch(() => undefined);
      if (window === 'W5' && turn % WIPE_EVERY === 0) {
        await wipe();
        wipes += 1;
      }
      await delay(1000 / PER_SECOND);
    }
    // From here on everybody lives, or a batch that is repeated would die again and again.
    isDying = false;
    for (const each of parts) await each.kill();
    const result = await judge(twin, carrier);
    return { deaths: wipes + parts.reduce((sum, each) => sum + each.deaths(), 0), ...result };
  } finally {
    for (const each of parts) await each.stop();
    await twin.stop();
  }
}

interface Supervised {
  url(): string;
  /** How often it has ended by itself. */
  deaths(): number;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a process again whenever it ends. */
async function supervise(start: () => Promise<ChildServer>): Promise<Supervised> {
  let running = await start();
  let deaths = 0;
  let isStopping = false;
  const isDone = (): boolean => isStopping;
  const watch = async (): Promise<void> => {
    for (;;) {
      await running.ended;
      if (isDone()) return;
      deaths += 1;
      running = await start();
      if (isDone()) await running.stop();
    }
  };
  const watched = watch();
  return {
    url: () => running.url,
    deaths: () => deaths,
    kill: () => running.stop('SIGKILL'),
    async stop() {
      isStopping = true;
      await running.stop();
      await watched;
    },
  };
}

async function wipe(): Promise<void> {
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
}

/** Compares what the carrier got with what is committed, and emails sent twice with attempts that ended as ambiguous. */
async function judge(twin: Twin, from: Carrier) {
  const committed = async (): Promise<number> =>
    (await twin.query<{ n: number }>(`select count(*)::int as n from outbox`))[0]?.n ?? 0;
  const sent = async (): Promise<number> =>
    (await twin.query<{ n: number }>(`select count(*)::int as n from attempt_end where outcome = 'sent'`))[0]
      ?.n ?? 0;
  for (
    const deadline = Date.now() + WAIT_MS;
    Date.now() < deadline && (await sent()) < (await committed());
  ) {
    await delay(250);
  }
  const { receipts } = await from.reset();
  const received = new Map<string, number>();
  for (const { subject } of receipts) {
    const { itemid } = readTimedSubject(subject);
    received.set(itemid, (received.get(itemid) ?? 0) + 1);
  }
  const items = await twin.query<{ item_id: number; ambiguous: number }>(
    `select i.item_id, (select count(*)::int from outbox o join delivery d on d.event = o.id
       join attempt_end e on e.delivery = d.id and e.outcome = 'ambiguous' where (o.row ->> 'item_id')::int = i.item_id) as ambiguous
     from shop.item i where product = 'timed'`,
  );
  const known = new Set(items.map(({ item_id }) => String(item_id)));
  const twice = (id: number): number => Math.max(0, (received.get(String(id)) ?? 0) - 1);
  return {
    items: items.length,
    lost: items.filter(({ item_id }) => !received.has(String(item_id))).length,
    uncommitted: [...received.keys()].filter((id) => !known.has(id)).length,
    twice: items.reduce((sum, { item_id }) => sum + twice(item_id), 0),
    recorded: items.reduce((sum, { item_id, ambiguous }) => sum + Math.min(twice(item_id), ambiguous), 0),
  };
}
