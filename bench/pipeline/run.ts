// The pipeline: relay, drain, sustained, latency, fairness, slowTemplates; alone on demand: memory, heldSnapshot. Prints ratios to peers.
// Arguments: parts, --events, --seconds, --minutes, --backend redis|postgres. Before: (cd bench/peers && npm ci && npm install --prefix directus)
import { describeMachine } from '../support/report.js';
import { drain } from './drain.js';
import { fairness } from './fairness.js';
import { createFindings, type Findings } from './findings.js';
import { heldSnapshot } from './heldSnapshot.js';
import { latency } from './latency.js';
import { memory } from './memory.js';
import { readOptions, type Options } from './options.js';
import { relayAlone } from './relayAlone.js';
import { slowTemplates } from './slowTemplates.js';
import { sustained } from './sustained.js';

type Part = (options: Options, findings: Findings) => Promise<void>;

const PARTS: Readonly<Record<string, Part>> = {
  relay: relayAlone,
  drain,
  sustained,
  latency,
  fairness,
  slowTemplates,
  memory,
  heldSnapshot,
};
const BY_DEFAULT = ['relay', 'drain', 'sustained', 'latency', 'fairness', 'slowTemplates'];

const options = readOptions(process.argv.slice(2));
const names = options.parts.length > 0 ? options.parts : BY_DEFAULT;
const unknown = names.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  throw new Error(`no such part: ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`);
}
const findings = createFindings();
console.log(describeMachine());
for (const name of names) {
  console.log(`\n${name}`);
  // One part that breaks must not cost the figures of the others.
  await PARTS[name]?.(options, findings).catch((error: unknown) => {
    console.error(`${name} broke off:`, error);
    process.exitCode = 1;
  });
}
findings.summarize();
