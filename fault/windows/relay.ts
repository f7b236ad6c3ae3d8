import { setTimeout as delay } from 'node:timers/promises';
import { addBatches, relayCommit, relayPoll, type Concerned } from '../markers.js';
import type { Member } from '../rig/member.js';
import { LEASE_MS, type Rig } from '../rig/rig.js';
import type { FaultWindow } from './window.js';

/** Orders this recent may not have been read by any relay. */
const FRESH_MS = 50;

/** W2: committed; the relay dies as its poll starts. */
export const beforeClaim: FaultWindow = {
  name: 'W2',
  what: 'relay killed as it begins a poll',
  atOnce: 1,
  async strike({ fleet, load, strikes }) {
    const fresh = (): readonly string[] => load.acknowledgedWithin(FRESH_MS).map(({ mark }) => mark);
    const pollAfterCommit = {
      ...relayPoll,
      matches: (request: string) => relayPoll.matches(request) && fresh().length > 0,
    };
    const { member: relay } = await fleet.catchAt('relay', pollAfterCommit, 'request');
    strikes.push({ window: 'W2', member: relay.name, atMs: Date.now(), marks: fresh() });
    await fleet.kill(relay);
  },
};

/** W3: the events are claimed, but not in the queue. */
export const beforeQueue: FaultWindow = {
  name: 'W3',
  what: 'relay killed with the add to the queue held',
  atOnce: 1,
  strike: (rig) => killAtAdd(rig, 'W3', 'request'),
};

/** W4: the queue has them, but the relay has not learned so. */
export const queueNotKnown: FaultWindow = {
  name: 'W4',
  what: "relay killed with the queue's response held",
  atOnce: 1,
  strike: (rig) => killAtAdd(rig, 'W4', 'reply'),
};

async function killAtAdd(rig: Rig, window: string, hold: 'request' | 'reply'): Promise<void> {
  const marker = addBatches(rig.backend);
  const { member: relay, caught } = await rig.fleet.catchAt('relay', marker, hold);
  rig.strikes.push({ window, member: relay.name, atMs: Date.now(), ...marker.concerns(caught.request) });
  await rig.fleet.kill(relay);
}

/** W5: the queue has them, the relay knows, and the queue loses everything. */
export const queueWiped: FaultWindow = {
  name: 'W5',
  what: 'queue wiped once it holds the batch',
  atOnce: 1,
  async strike({ backend, fleet, queueStore, strikes }) {
    const marker = addBatches(backend);
    const { member: relay, caught } = await fleet.catchAt('relay', marker, 'reply');
    strikes.push({ window: 'W5', member: relay.name, atMs: Date.now(), ...marker.concerns(caught.request) });
    await queueStore.wipe();
    caught.release();
    fleet.giveBack(relay);
  },
};

/** W12: one of several relays loses its network for longer than a lease, and then continues where it was. */
export const partitioned: FaultWindow = {
  name: 'W12',
  what: 'a relay partitioned for longer than a lease',
  atOnce: 2,
  keeps: 'relay',
  async strike(rig, turn) {
    const { relay, struck, release } = await (PARTITIONS[turn % PARTITIONS.length] ?? atAnyMoment)(rig);
    for (const link of Object.values(relay.links)) link.stall();
    rig.strikes.push({ window: 'W12', member: relay.name, atMs: Date.now(), ...struck });
    await delay(LEASE_MS * 1.2);
    for (const link of Object.values(relay.links)) link.heal();
    release();
    rig.fleet.giveBack(relay);
  },
};

interface Partition {
  readonly relay: Member;
  readonly struck: Concerned;
  readonly release: () => void;
}

/** With batches that it adds on its return: by then another relay has added them. */
async function beforeAdding({ fleet, backend }: Rig): Promise<Partition> {
  const marker = addBatches(backend);
  const { member, caught } = await fleet.catchAt('relay', marker, 'request');
  return { relay: member, struck: marker.concerns(caught.request), release: caught.release };
}

/** In the middle of a poll, holding the poll lock. */
async function beforeCommit(rig: Rig): Promise<Partition> {
  const { member, caught } = await rig.fleet.catchAt('relay', relayCommit, 'request');
  return { relay: member, struck: freshOrders(rig), release: caught.release };
}

async function atAnyMoment(rig: Rig): Promise<Partition> {
  const relay = await rig.fleet.take('relay');
  return { relay, struck: freshOrders(rig), release: () => undefined };
}

const PARTITIONS = [beforeAdding, beforeCommit, atAnyMoment];

function freshOrders({ load }: Rig): Concerned {
  return { marks: load.acknowledgedWithin(FRESH_MS).map(({ mark }) => mark) };
}
