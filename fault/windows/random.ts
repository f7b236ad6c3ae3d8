import type { Part } from '../rig/member.js';
import type { FaultWindow } from './window.js';

const PARTS: readonly Part[] = ['worker', 'relay', 'web', 'worker'];

/** Any process at any moment, to find windows that are missing here. */
export const atRandom: FaultWindow = {
  name: 'random',
  what: 'any process killed at any moment',
  atOnce: 1,
  async strike({ fleet, strikes }, turn) {
    const member = await fleet.take(PARTS[turn % PARTS.length] ?? 'worker');
    strikes.push({ window: 'random', member: member.name, atMs: Date.now(), ...member.inHand() });
    await fleet.kill(member);
  },
};
