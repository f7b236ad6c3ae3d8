import type { Backend } from '../markers.js';
import type { Rig } from '../rig/rig.js';

/** Something that processes depend on is not well for a while, and then is again. */
export interface DependencyFault {
  readonly name: string;
  /** What happens, in a few words. */
  readonly what: string;
  /** Where the queue has to be for it; anywhere by default. */
  readonly backend?: Backend;
  /** Times the duration that was asked for. */
  readonly times?: number;
  /** Whether the end of a mail may not be recorded meanwhile, so that it may be sent again. */
  readonly losesAnswers?: true;
  /** Does it for so long. When it resolves the dependency is well again. */
  inflict(rig: Rig, durationMs: number): Promise<void>;
}
