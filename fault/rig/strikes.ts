import type { Concerned } from '../markers.js';

/** One fault, done to one process at one moment. */
export interface Strike extends Concerned {
  /** Such as "W8". */
  readonly window: string;
  /** The process that it was done to. */
  readonly member: string;
  readonly atMs: number;
  /** When the process went on, or came to its end, if that was later: until then it may have called the provider. */
  overAtMs?: number;
  /** When the process was gone, if it ended later: from then on its deliveries are for others. */
  lostAtMs?: number;
  /** What else the process had in hand. */
  readonly beside?: Concerned;
}

/** A time in which something that processes depend on was not well. */
export interface Span {
  /** Such as "redis away". */
  readonly fault: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Whose mails it concerned; all by default. */
  readonly tenantid?: number;
  /** Whether the answer to a mail could not be recorded then, or did not come. */
  readonly losesAnswers: boolean;
}
