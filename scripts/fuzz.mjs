// npm run fuzz: lists the fuzzers; npm run fuzz -- <name> runs one for minutes, with another seed each time.
import { randomInt } from 'node:crypto';
import path from 'node:path';
import { fail, prepareDependencies, projectDir, runNode } from './project.mjs';

/** Each runs for seconds among the tests; the setting makes it long. */
const FUZZERS = new Map([
  ['filters', { file: 'test/fuzz/filters.ts', long: { FUZZ_SECONDS: '600' } }],
  ['templates', { file: 'packages/jinja2/test/fuzz.test.ts', long: { FUZZ_RENDERS: '100000' } }],
]);

const [name] = process.argv.slice(2);
if (name === undefined) {
  console.log(`npm run fuzz -- <name>\n\n  ${[...FUZZERS.keys()].join('\n  ')}`);
  process.exit(0);
}
const fuzzer = FUZZERS.get(name);
if (!fuzzer) fail(`there is no fuzzer "${name}"; npm run fuzz lists them`);
await prepareDependencies();
const env = { FUZZ_SEED: String(randomInt(2 ** 31)), ...fuzzer.long, ...process.env };
process.exit(runNode([path.join(projectDir, 'node_modules/mocha/bin/mocha.js'), fuzzer.file], env));
