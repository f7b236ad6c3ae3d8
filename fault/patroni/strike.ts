import { setTimeout as delay } from 'node:timers/promises';
import { measure, type Failover } from '../failover/strike.js';
import type { Rig } from '../rig/rig.js';
import type { PatroniCluster, Roles } from './cluster.js';

export const PATRONI_WAYS = [
  'leader killed',
  'leader stopped',
  'leader cut off from etcd',
  'leader switched over',
  'standby killed',
  'standby stopped',
  'all killed, leader back last',
  'servers restarted in turn',
  'processes restarted in turn',
] as const;
export type PatroniWay = (typeof PATRONI_WAYS)[number];

/** Resolves once another server leads, or confirms commits. @returns what brings back the one that was lost */
type Strike = (patroni: PatroniCluster, roles: Roles, rig: Rig) => Promise<() => Promise<void>>;

const LIVE_MS = 1_500;
/** Longer than the ttl: time in which a standby might take over. */
const ALONE_MS = 25_000;

const STRIKES: Readonly<Record<PatroniWay, Strike>> = {
  async 'leader killed'(patroni, { leader }) {
    await leader.kill();
    await patroni.leaderAfter(leader);
    return () => leader.start();
  },
  async 'leader stopped'(patroni, { leader }) {
    await leader.freeze();
    await patroni.leaderAfter(leader);
    return () => leader.thaw();
  },
  async 'leader cut off from etcd'(patroni, { leader }) {
    leader.cutOffFromEtcd();
    await patroni.leaderAfter(leader);
    return async () => {
      leader.reconnectToEtcd();
      await patroni.whole();
    };
  },
  async 'leader switched over'(patroni, roles) {
    const done = patroni.switchOver(roles);
    await patroni.leaderAfter(roles.leader);
    return () => done;
  },
  async 'standby killed'(patroni, { standby }) {
    await standby.kill();
    await patroni.standbyAfter(standby);
    return () => standby.start();
  },
  async 'standby stopped'(patroni, { standby }) {
    await standby.freeze();
    await patroni.standbyAfter(standby);
    return () => standby.thaw();
  },
  /** Alone it goes on accepting orders, which no standby has: one that took over would lose them. */
  async 'all killed, leader back last'(patroni, { leader, standby, other }) {
    for (const node of [standby, other]) await node.kill();
    await patroni.alone(leader);
    await delay(LIVE_MS);
    await leader.kill();
    for (const node of [standby, other]) await node.start();
    await delay(ALONE_MS);
    await leader.start();
    await patroni.leads(leader);
    return nothing;
  },
  /** As for another version of PostgreSQL: the standbys first, and the leader once it is a standby. */
  async 'servers restarted in turn'(patroni, { leader, standby, other }) {
    for (const node of [other, standby]) {
      await patroni.restart(node);
      await patroni.whole();
    }
    await patroni.switchOver(await patroni.whole());
    await patroni.leaderAfter(leader);
    return async () => {
      await patroni.whole();
      await patroni.restart(leader);
    };
  },
  async 'processes restarted in turn'(patroni, roles, { fleet, complaints }) {
    for (const member of fleet.all) {
      fleet.replace(member);
      member.signal('SIGTERM');
      const { code, signal } = await member.exited;
      if (code !== 0)
        complaints.push(`${member.name} was told to end, and did with ${String(code ?? signal)}`);
      await fleet.atStrength();
    }
    return nothing;
  },
};

const nothing = (): Promise<void> => Promise.resolve();

/** Takes a server away under load; Patroni puts another in its place. */
export async function strikePatroni(rig: Rig, way: PatroniWay): Promise<Failover> {
  const { patroni } = rig;
  if (!patroni) throw new Error('there is no Patroni');
  const roles = await patroni.whole();
  await delay(LIVE_MS + Math.random() * 500);
  const lostAtMs = Date.now();
  return measure(rig, way, lostAtMs, await STRIKES[way](patroni, roles, rig));
}
