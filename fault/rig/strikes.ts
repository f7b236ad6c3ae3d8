import type { Concerned } from '../markers.js';

/** One fault, injected into one process at one moment. */
export interface Strike extends Concerned {
  /** Such as "W8". */
  readonly window: string;
  /** The struck process. */
  readonly member: string;
  readonly atMs: number;
  /** When the process resumed or, if later, exited: until then it may have called the carrier. */
  overAtMs?: number;
  /** When the process was gone, if later: from then on other processes take its deliveries. */
  lostAtMs?: number;
  /** What else the process had in flight. */
  readonly beside?: Concerned;
}

/** A period in which a dependency failed. */
export interface Span {
  /** Such as "redis away". */
  readonly fault: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Whose emails it affected; all by default. */
  readonly tenantid?: number;
  /** Whether responses to emails may have been lost or not recorded. */
  readonly losesResponses: boolean;
}
