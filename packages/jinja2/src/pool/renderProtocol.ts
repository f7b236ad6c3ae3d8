import type { TaskResult, RenderTask } from './templateJob.js';

/** Tasks for a render process, in order. */
export interface RenderGroup {
  /** The number of the first task, counted over all groups. */
  readonly first: number;
  readonly tasks: readonly RenderTask[];
}

/** Sent by a render process: the next results of its group, in order. The first message is empty and means that it has started. */
export interface RenderMessage {
  readonly results: readonly TaskResult[];
  /** The process is ready for another group. Tasks without a result were not started. */
  readonly isFree: boolean;
}

/** Where a render process writes the number of each task that it starts, as 32 bits, the lowest byte first. */
export const PROGRESS_FD = 3;

/** After this time, no further task of a group starts, and the pool gives those behind the running one to others. Most groups are done by then. */
export const REASSIGN_AFTER_MS = 50;
