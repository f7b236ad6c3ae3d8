import type { Part } from '../rig/member.js';
import type { Rig } from '../rig/rig.js';

/** A moment in the life of a mail at which a process, or what it depends on, may be lost. */
export interface FaultWindow {
  readonly name: string;
  /** What happens, in a few words. */
  readonly what: string;
  /** How many may be under way at once. */
  readonly atOnce: number;
  /** The part of which it keeps a process from its work for long. */
  readonly keeps?: Part;
  /** Of the wanted number of strikes, where that is not all. */
  readonly share?: number;
  /** Does it once. @param turn counts from 0; windows with several forms take them in turn */
  strike(rig: Rig, turn: number): Promise<void>;
}
