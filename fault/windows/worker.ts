import { setTimeout as delay } from 'node:timers/promises';
import { jobDone, mail, sendingStart, type Marker } from '../markers.js';
import { GRACE_MS, LEASE_MS, type Rig } from '../rig/rig.js';
import type { Strike } from '../rig/strikes.js';
import { within } from '../rig/within.js';
import type { Hold } from '../wire/trap.js';
import type { FaultWindow } from './window.js';

/** W6: it has the job; the ledger has not heard that it sends. */
export const beforeSending: FaultWindow = {
  name: 'W6',
  what: 'worker killed with sending_start held',
  atOnce: 1,
  strike: (rig) => killAt(rig, 'W6', sendingStart, 'request'),
};

/** W7: `sending` is recorded, and no byte has left. */
export const beforeBytes: FaultWindow = {
  name: 'W7',
  what: 'worker killed with the mail held',
  atOnce: 1,
  strike: (rig) => killAt(rig, 'W7', mail, 'request'),
};

/** W8: the provider has the mail, and nobody will ever hear of it. */
export const answerLost: FaultWindow = {
  name: 'W8',
  what: "worker killed with the provider's answer held",
  atOnce: 1,
  strike: (rig) => killAt(rig, 'W8', mail, 'answer'),
};

/** W9: the outcome is recorded, the job is still there. */
export const beforeCompletion: FaultWindow = {
  name: 'W9',
  what: "worker killed with the job's completion held",
  atOnce: 1,
  strike: (rig) => killAt(rig, 'W9', jobDone(rig.backend), 'request'),
};

async function killAt(rig: Rig, window: string, marker: Marker, hold: Hold): Promise<void> {
  const { member: worker, caught } = await rig.fleet.catchAt('worker', marker, hold);
  const struck = marker.concerns(caught.request);
  rig.strikes.push({ window, member: worker.name, atMs: Date.now(), ...struck, beside: worker.inHand() });
  await rig.fleet.kill(worker);
}

/** An orderly end may take the grace, and a moment for the operating system. */
const EXIT_SLACK_MS = 1_500;

/** W10: told to end, with nothing in its way; with an answer that never comes; killed before its grace is over. */
export const toldToEnd: FaultWindow = {
  name: 'W10',
  what: 'worker told to end (SIGTERM), killed at the grace',
  atOnce: 2,
  async strike(rig, turn) {
    const form = (['free', 'hanging', 'killed'] as const)[turn % 3] ?? 'free';
    const prey = form === 'free' ? undefined : await rig.fleet.catchAt('worker', mail, 'answer');
    const worker = prey?.member ?? (await rig.fleet.take('worker'));
    if (prey) worker.links.provider?.stall();
    worker.signal('SIGTERM');
    const struck = prey ? mail.concerns(prey.caught.request) : {};
    const strike: Strike = {
      window: 'W10',
      member: worker.name,
      atMs: Date.now(),
      ...struck,
      beside: worker.inHand(),
    };
    rig.strikes.push(strike);
    rig.fleet.replace(worker);
    if (form === 'killed') {
      await delay(GRACE_MS / 2);
      worker.signal('SIGKILL');
    }
    const exit = within(GRACE_MS + EXIT_SLACK_MS, `${worker.name} to end within its grace`, worker.exited);
    await exit.catch((error: unknown) => {
      rig.complaints.push(`W10, ${form}: ${(error as Error).message}\n${worker.lastWords()}`);
      worker.signal('SIGKILL');
    });
    strike.overAtMs = strike.lostAtMs = Date.now();
  },
};

/** Two leases and a little: its deliveries have been given to others, and sent, long before it goes on. */
const STOPPED_MS = LEASE_MS * 2 + 1_000;
const LONG_STOP_MS = 60_000;
const LONG_STOP_EVERY = 20;

/** W11: stopped with deliveries in hand, and resumed when they are no longer its own. */
export const stopped: FaultWindow = {
  name: 'W11',
  what: 'worker stopped before it sends (SIGSTOP), then resumed',
  atOnce: 3,
  keeps: 'worker',
  strike: (rig, turn) => stopAt(rig, 'W11', turn, sendingStart),
};

/** W11 with the mail on its way: its answer waits for a process that will not read it in time. */
export const stoppedWhileSending: FaultWindow = {
  name: 'W11 sending',
  what: 'worker stopped while it sends, then resumed',
  atOnce: 2,
  keeps: 'worker',
  share: 0.5,
  strike: (rig, turn) => stopAt(rig, 'W11 sending', turn, mail),
};

async function stopAt(rig: Rig, window: string, turn: number, marker: Marker): Promise<void> {
  const { member: worker, caught } = await rig.fleet.catchAt('worker', marker, 'answer');
  worker.signal('SIGSTOP');
  const struck = marker.concerns(caught.request);
  const strike: Strike = {
    window,
    member: worker.name,
    atMs: Date.now(),
    ...struck,
    beside: worker.inHand(),
  };
  rig.strikes.push(strike);
  // The answer lies in the stopped process's socket: the first thing that it reads.
  caught.release();
  await delay(turn % LONG_STOP_EVERY === LONG_STOP_EVERY - 1 ? LONG_STOP_MS : STOPPED_MS);
  worker.signal('SIGCONT');
  strike.overAtMs = Date.now();
  rig.fleet.giveBack(worker);
}
