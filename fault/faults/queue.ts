import { setTimeout as delay } from 'node:timers/promises';
import type { Rig } from '../rig/rig.js';
import type { Link } from '../wire/link.js';
import type { DependencyFault } from './fault.js';

export const redisRestarted: DependencyFault = {
  name: 'redis restarted',
  what: 'killed and restarted empty',
  backend: 'redis',
  inflict: (rig) => rig.restartRedis(),
};

export const queueEmptied: DependencyFault = {
  name: 'queue wiped',
  what: 'emptied five times a second',
  async inflict({ queueStore }, durationMs) {
    const until = Date.now() + durationMs;
    while (Date.now() < until) {
      await queueStore.wipe();
      await delay(200);
    }
  },
};

export const redisFull: DependencyFault = {
  name: 'redis out of memory',
  what: 'every write refused: noeviction, no memory',
  backend: 'redis',
  async inflict({ queueStore }, durationMs) {
    await queueStore.limitMemory(1);
    await delay(durationMs);
    await queueStore.limitMemory(0);
  },
};

export const redisAway: DependencyFault = {
  name: 'redis away',
  what: 'connections broken, new ones refused',
  backend: 'redis',
  async inflict(rig, durationMs) {
    const links = redisLinks(rig);
    for (const link of links) link.refuse();
    await delay(durationMs);
    for (const link of links) link.allow();
  },
};

export const redisSilent: DependencyFault = {
  name: 'redis silent',
  what: 'connections open but silent',
  backend: 'redis',
  async inflict(rig, durationMs) {
    const links = redisLinks(rig);
    for (const link of links) link.stall();
    await delay(durationMs);
    for (const link of links) link.heal();
  },
};

const SLOW_MS = 200;

export const redisSlow: DependencyFault = {
  name: 'redis slow',
  what: `${SLOW_MS} ms longer each way`,
  backend: 'redis',
  async inflict(rig, durationMs) {
    const links = redisLinks(rig);
    for (const link of links) link.slowDown(SLOW_MS);
    await delay(durationMs);
    for (const link of links) link.slowDown(0);
  },
};

function redisLinks({ fleet }: Rig): readonly Link[] {
  return fleet.all.flatMap(({ links }) => links.redis ?? []);
}
