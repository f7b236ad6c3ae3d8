import { atRandom } from './random.js';
import { beforeClaim, beforeQueue, partitioned, queueNotKnown, queueWiped } from './relay.js';
import { beforeCommit } from './web.js';
import type { FaultWindow } from './window.js';
import {
  responseLost,
  beforeBytes,
  beforeCompletion,
  beforeSending,
  stopped,
  stoppedWhileSending,
  toldToEnd,
} from './worker.js';

/** All windows, in the order in which an email goes through them. */
export const WINDOWS: readonly FaultWindow[] = [
  beforeCommit,
  beforeClaim,
  beforeQueue,
  queueNotKnown,
  queueWiped,
  beforeSending,
  beforeBytes,
  responseLost,
  beforeCompletion,
  toldToEnd,
  stopped,
  stoppedWhileSending,
  partitioned,
  atRandom,
];

/**
 * Windows in which the carrier may have accepted an email whose response was never recorded: the only ones with
 * duplicates.
 */
export const WINDOWS_WITH_DUPLICATES: ReadonlySet<string> = new Set(['W8', 'W10', 'W11 sending', 'random']);

/** Windows in which a process is stopped and resumed. */
export const WINDOWS_THAT_STOP: ReadonlySet<string> = new Set([stopped.name, stoppedWhileSending.name]);
