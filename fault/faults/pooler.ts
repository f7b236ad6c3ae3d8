import { setTimeout as delay } from 'node:timers/promises';
import type { PooledPostgres } from '../../test/support/pgbouncer.js';
import type { Rig } from '../rig/rig.js';
import type { DependencyFault } from './fault.js';

const RESTART_EVERY_MS = 500;

export const poolerRestarted: DependencyFault = {
  name: 'pgbouncer restarted',
  what: 'killed and started again, twice a second',
  async inflict(rig, durationMs) {
    const pooled = poolerOf(rig);
    const until = Date.now() + durationMs;
    while (Date.now() < until) {
      await pooled.signalPgBouncer('SIGKILL');
      await pooled.startPgBouncer();
      await delay(RESTART_EVERY_MS);
    }
  },
};

export const poolerAway: DependencyFault = {
  name: 'pgbouncer away',
  what: 'killed, and started again when the time is over',
  async inflict(rig, durationMs) {
    const pooled = poolerOf(rig);
    await pooled.signalPgBouncer('SIGKILL');
    await delay(durationMs);
    await pooled.startPgBouncer();
  },
};

export const poolerSilent: DependencyFault = {
  name: 'pgbouncer silent',
  what: 'connections open but silent',
  async inflict(rig, durationMs) {
    const pooled = poolerOf(rig);
    await pooled.signalPgBouncer('SIGSTOP');
    await delay(durationMs);
    await pooled.signalPgBouncer('SIGCONT');
  },
};

function poolerOf({ pooled }: Rig): PooledPostgres {
  if (!pooled) throw new Error('there is no pooler');
  return pooled;
}
