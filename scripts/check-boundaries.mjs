// Runs dependency-cruiser over src and packages/jinja2, and refuses to believe a run that saw almost nothing:
// with a TypeScript it does not understand, the tool passes on zero modules.
import { execFileSync } from 'node:child_process';

const MIN_MODULES = 50;
const report = JSON.parse(
  execFileSync(
    'node_modules/.bin/depcruise',
    ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'src', 'packages/jinja2/src'],
    {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      // Violations make the tool exit non-zero; the report on stdout is what counts.
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  ),
);
const { violations, totalCruised } = report.summary;
for (const v of violations) console.error(`${v.rule.severity} ${v.rule.name}: ${v.from} → ${v.to}`);
if (totalCruised < MIN_MODULES) {
  console.error(`only ${totalCruised} modules were read; expected at least ${MIN_MODULES}`);
  process.exit(1);
}
if (violations.length > 0) process.exit(1);
console.log(`boundaries hold over ${totalCruised} modules`);
