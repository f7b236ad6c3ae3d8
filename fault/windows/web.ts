import { setTimeout as delay } from 'node:timers/promises';
import { mutation } from '../markers.js';
import type { FaultWindow } from './window.js';

/** PostgreSQL has run the statements and waits for the commit. */
const STATEMENTS_MS = 5;

/** W1: the row and its event are written, and the process dies before they are committed. */
export const beforeCommit: FaultWindow = {
  name: 'W1',
  what: 'web killed with the commit held',
  atOnce: 1,
  async strike({ fleet, strikes }) {
    const { member: web, caught } = await fleet.catchAt('web', mutation, 'commit');
    await delay(STATEMENTS_MS);
    strikes.push({ window: 'W1', member: web.name, atMs: Date.now(), ...mutation.concerns(caught.request) });
    await fleet.kill(web);
  },
};
