import type { Accounts } from '../analysis/accounts.js';
import type { Duplicate } from '../analysis/duplicates.js';
import type { Rig } from '../rig/rig.js';
import type { Witness } from '../rig/witness.js';

/** All that is known at the end of a run. */
export interface Evidence {
  readonly rig: Rig;
  readonly accounts: Accounts;
  readonly duplicates: readonly Duplicate[];
  readonly witness: Witness;
}

/** Something that holds whatever faults were injected. */
export interface Invariant {
  readonly name: string;
  /** One line per breach, naming the delivery, order or place. */
  breaches(evidence: Evidence): readonly string[] | Promise<readonly string[]>;
}
