import type { Part } from '../rig/member.js';
import type { Rig } from '../rig/rig.js';

/** A moment in an email's life at which a process or one of its dependencies may fail. */
export interface FaultWindow {
  readonly name: string;
  /** What happens, in a few words. */
  readonly what: string;
  /** Maximum concurrent strikes. */
  readonly atOnce: number;
  /** The part of which it pauses a process for a long time. */
  readonly keeps?: Part;
  /** Share of the requested number of strikes; 1 by default. */
  readonly share?: number;
  /**
   * Strikes once.
   * @param turn counts from 0; windows with several variants alternate by it
   */
  strike(rig: Rig, turn: number): Promise<void>;
}

/** How many times a window is struck in a run with this many strikes in each. */
export function turnsOf({ share = 1 }: FaultWindow, times: number): number {
  return Math.ceil(times * share);
}
