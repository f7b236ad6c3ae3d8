import { responsesTrue } from './responses.js';
import { nothingNeglected } from './attention.js';
import { nothingInvented, nothingLost } from './completeness.js';
import { endingsFinal, historyMonotone } from './history.js';
import type { Evidence, Invariant } from './invariant.js';
import { secretsKept } from './secrecy.js';
import { duplicatesExplained, keysHonored, oneCarrierEach, sendsAccounted } from './sends.js';
import { rightsHeld, tenantsApart } from './tenants.js';

const INVARIANTS: readonly Invariant[] = [
  nothingLost,
  nothingInvented,
  sendsAccounted,
  duplicatesExplained,
  keysHonored,
  oneCarrierEach,
  tenantsApart,
  rightsHeld,
  historyMonotone,
  endingsFinal,
  nothingNeglected,
  secretsKept,
  responsesTrue,
];

export interface Verdict {
  readonly invariant: string;
  readonly breaches: readonly string[];
}

export async function check(evidence: Evidence): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const invariant of INVARIANTS) {
    verdicts.push({ invariant: invariant.name, breaches: await invariant.breaches(evidence) });
  }
  return verdicts;
}
