import { setTimeout as delay } from 'node:timers/promises';
import { addBatches, relayCommit, relayTick } from '../markers.js';
import { catchAt, type Member } from '../rig/member.js';
import { LEASE_MS, type Rig } from '../rig/rig.js';
import type { FaultWindow } from './window.js';

/** Orders this young may not have been seen by any relay. */
const FRESH_MS = 50;

/** W2: committed, and the relay dies as it begins to look. */
export const beforeClaim: FaultWindow = {
  name: 'W2',
  what: 'relay killed as it begins a tick',
  atOnce: 1,
  async strike({ fleet, load, strikes }) {
    const relay = await fleet.take('relay');
    await catchAt(relay, relayTick, 'request');
    const marks = load.acknowledgedWithin(FRESH_MS).map(({ mark }) => mark);
    strikes.push({ window: 'W2', atMs: Date.now(), marks });
    await fleet.kill(relay);
  },
};

/** W3: the events are claimed, the queue has not heard of them. */
export const beforeQueue: FaultWindow = {
  name: 'W3',
  what: 'relay killed with the add to the queue held',
  atOnce: 1,
  strike: (rig) => killAtAdd(rig, 'W3', 'request'),
};

/** W4: the queue has them, the relay does not know. */
export const queueNotKnown: FaultWindow = {
  name: 'W4',
  what: "relay killed with the queue's answer held",
  atOnce: 1,
  strike: (rig) => killAtAdd(rig, 'W4', 'answer'),
};

async function killAtAdd(rig: Rig, window: string, hold: 'request' | 'answer'): Promise<void> {
  const marker = addBatches(rig.backend);
  const relay = await rig.fleet.take('relay');
  const caught = await catchAt(relay, marker, hold);
  rig.strikes.push({ window, atMs: Date.now(), ...marker.concerns(caught.request) });
  await rig.fleet.kill(relay);
}

/** W5: the queue has them, the relay knows, and the queue loses everything. */
export const queueWiped: FaultWindow = {
  name: 'W5',
  what: 'queue wiped once it holds the batch',
  atOnce: 1,
  async strike({ backend, fleet, queueStore, strikes }) {
    const marker = addBatches(backend);
    const relay = await fleet.take('relay');
    const caught = await catchAt(relay, marker, 'answer');
    strikes.push({ window: 'W5', atMs: Date.now(), ...marker.concerns(caught.request) });
    await queueStore.wipe();
    caught.release();
    fleet.giveBack(relay);
  },
};

/** W12: one of several relays loses its network for longer than a lease, and comes back where it was. */
export const partitioned: FaultWindow = {
  name: 'W12',
  what: 'a relay partitioned for longer than a lease',
  atOnce: 2,
  async strike(rig, turn) {
    const relay = await rig.fleet.take('relay');
    const release = await PARTITIONS[turn % PARTITIONS.length]?.(rig, relay);
    await delay(LEASE_MS * 1.2);
    for (const link of Object.values(relay.links)) link.heal();
    release?.();
    rig.fleet.giveBack(relay);
  },
};

type Partition = (rig: Rig, relay: Member) => Promise<(() => void) | undefined>;

const PARTITIONS: readonly Partition[] = [
  /** With batches in hand, which it adds when it is back: by then another relay has added them. */
  async (rig, relay) => {
    const marker = addBatches(rig.backend);
    const caught = await catchAt(relay, marker, 'request');
    stall(relay);
    rig.strikes.push({ window: 'W12', atMs: Date.now(), ...marker.concerns(caught.request) });
    return () => caught.release();
  },
  /** In the middle of a tick, with the lock on ticks held. */
  async (rig, relay) => {
    const caught = await catchAt(relay, relayCommit, 'request');
    stall(relay);
    rig.strikes.push({ window: 'W12', atMs: Date.now(), marks: freshMarks(rig) });
    return () => caught.release();
  },
  /** At any moment. */
  (rig, relay) => {
    stall(relay);
    rig.strikes.push({ window: 'W12', atMs: Date.now(), marks: freshMarks(rig) });
    return Promise.resolve(undefined);
  },
];

function stall(relay: Member): void {
  for (const link of Object.values(relay.links)) link.stall();
}

function freshMarks({ load }: Rig): readonly string[] {
  return load.acknowledgedWithin(FRESH_MS).map(({ mark }) => mark);
}
