import type { Backend } from '../markers.js';
import type { Rig } from '../rig/rig.js';

/** A dependency of the processes fails for a while, and recovers. */
export interface DependencyFault {
  readonly name: string;
  /** What happens, in a few words. */
  readonly what: string;
  /** The queue backend it requires; any by default. */
  readonly backend?: Backend;
  /** Multiple of the requested duration. */
  readonly times?: number;
  /** Whether outcomes of emails may go unrecorded meanwhile, so that emails may be sent again. */
  readonly losesResponses?: true;
  /** Injects the fault for this long. When it resolves, the dependency works again. */
  inflict(rig: Rig, durationMs: number): Promise<void>;
}
