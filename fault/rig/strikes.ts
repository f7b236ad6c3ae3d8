import type { Concerned } from '../markers.js';

/** One fault, done to one process at one moment. */
export interface Strike extends Concerned {
  /** Such as "W8". */
  readonly window: string;
  readonly atMs: number;
  /** Deliveries whose mail the struck process had given to the provider meanwhile: they are in W8, whatever this is. */
  readonly beside?: readonly string[];
}

/** A time in which something that processes depend on was not well. */
export interface Span {
  /** Such as "redis away". */
  readonly fault: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Whose mails it concerned; all by default. */
  readonly tenantid?: number;
}
