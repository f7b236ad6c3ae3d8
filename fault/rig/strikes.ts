import type { Concerned } from '../markers.js';

/** One fault, done to one process at one moment. */
export interface Strike extends Concerned {
  /** Such as "W8". */
  readonly window: string;
  readonly atMs: number;
  /** Deliveries whose mail the struck process had given to the provider meanwhile: they are in W8, whatever this is. */
  readonly beside?: readonly string[];
}
