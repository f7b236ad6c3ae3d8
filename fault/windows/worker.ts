import { setTimeout as delay } from 'node:timers/promises';
import { jobDone, email, sendingStart, type Marker } from '../markers.js';
import { GRACE_MS, LEASE_MS, type Rig } from '../rig/rig.js';
import type { Strike } from '../rig/strikes.js';
import { within } from '../rig/within.js';
import type { Hold } from '../wire/trap.js';
import type { FaultWindow } from './window.js';

/** W6: the worker has the job; the ledger does not know that it sends. */
export const beforeSending: FaultWindow = {
  name: 'W6',
  what: 'worker killed with sending_start held',
  atOnce: 1,
  strike: (rig) => killAt(rig, 'W6', sendingStart, 'request'),
};

/** W7: `sending` is recorded, and no byte has left. */
export const beforeBytes: FaultWindow = {
  name: 'W7',
  what: 'worker killed with the email held',
  atOnce: 1,
  strike: (rig) => killAt(rig, 'W7', email, 'request'),
};

/** W8: the carrier has the email, and its response is lost. */
export const responseLost: FaultWindow = {
  name: 'W8',
  what: "worker killed with the carrier's response held",
  atOnce: 1,
  strike: (rig) => killAt(rig, 'W8', email, 'reply'),
};

/** W9: the outcome is recorded, but the job is not completed. */
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

/** A graceful stop may take the grace period, plus a moment for the operating system. */
const EXIT_SLACK_MS = 1_500;

/**
 * W10: stopped gracefully: undisturbed; with a response that never comes; killed before its grace period is over.
 */
export const toldToEnd: FaultWindow = {
  name: 'W10',
  what: 'worker told to end (SIGTERM), killed at the grace',
  atOnce: 2,
  async strike(rig, turn) {
    const form = (['free', 'hanging', 'killed'] as const)[turn % 3] ?? 'free';
    const caught = form === 'free' ? undefined : await rig.fleet.catchAt('worker', email, 'reply');
    const worker = caught?.member ?? (await rig.fleet.take('worker'));
    if (caught) for (const link of [worker.links.carrier, worker.links.smtp]) link?.stall();
    worker.signal('SIGTERM');
    const struck = caught ? email.concerns(caught.caught.request) : {};
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

/** A little over two leases: its deliveries are reassigned and sent long before it resumes. */
const STOPPED_MS = LEASE_MS * 2 + 1_000;
const LONG_STOP_MS = 60_000;
const LONG_STOP_EVERY = 20;

/** W11: paused with deliveries in flight, and resumed when it no longer owns them. */
export const stopped: FaultWindow = {
  name: 'W11',
  what: 'worker stopped before it sends (SIGSTOP), then resumed',
  atOnce: 3,
  keeps: 'worker',
  strike: (rig, turn) => stopAt(rig, 'W11', turn, sendingStart),
};

/** W11 with the email in flight: the paused process reads its response too late. */
export const stoppedWhileSending: FaultWindow = {
  name: 'W11 sending',
  what: 'worker stopped while it sends, then resumed',
  atOnce: 2,
  keeps: 'worker',
  share: 0.5,
  strike: (rig, turn) => stopAt(rig, 'W11 sending', turn, email),
};

async function stopAt(rig: Rig, window: string, turn: number, marker: Marker): Promise<void> {
  const { member: worker, caught } = await rig.fleet.catchAt('worker', marker, 'reply');
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
  // The response is in the paused process's socket buffer: the first thing it reads.
  caught.release();
  await delay(turn % LONG_STOP_EVERY === LONG_STOP_EVERY - 1 ? LONG_STOP_MS : STOPPED_MS);
  worker.signal('SIGCONT');
  strike.overAtMs = Date.now();
  rig.fleet.giveBack(worker);
}
