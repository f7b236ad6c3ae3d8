// A discrete-event model of installations: measures this machine, compares the model with it, computes larger ones.
// Arguments: measure [--tenants n] | check [--tenants n] | plan
import { parseArgs } from 'node:util';
import { calibrate } from './calibrate.js';
import { compare } from './check.js';
import { measureInstallation } from './measure.js';
import { readMeasurements, writeMeasurements } from './measurements.js';
import { OPERATIONS } from './machine.js';
import { reportPlan } from './planReport.js';
import type { Terms } from './site.js';

const USAGE = 'npm run bench -- simulate measure|check|plan [--tenants 1]';
const { positionals, values } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: { tenants: { type: 'string', default: '1' } },
});
const fileOf = (tenants: number): string =>
  new URL(`measured/tenants-${tenants}.json`, import.meta.url).pathname;
const tenants = Number(values.tenants);

switch (positionals[0]) {
  case 'measure':
    writeMeasurements(fileOf(tenants), await measureInstallation(tenants));
    break;
  case 'check':
    compare(readMeasurements(fileOf(tenants)), calibratedTerms());
    break;
  case 'plan':
    reportPlan(calibratedTerms());
    break;
  default:
    throw new Error(USAGE);
}

/** With the costs that the measurements of one tenant give. */
function calibratedTerms(): Terms {
  const measured = readMeasurements(fileOf(1));
  const around = { flushMs: measured.flushMs, carrierMs: () => 0, hopMs: 0.05 };
  const costMs = calibrate(measured, around);
  console.log(`\n| CPU ms | ${OPERATIONS.join(' | ')} |\n|${' --- |'.repeat(OPERATIONS.length + 1)}`);
  for (const [component, costs] of Object.entries(costMs)) {
    console.log(
      `| ${component} | ${OPERATIONS.map((operation) => costs[operation].toFixed(3)).join(' | ')} |`,
    );
  }
  return { ...around, costMs };
}
