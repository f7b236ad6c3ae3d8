// npm run fuzz: lists the fuzzers; npm run fuzz -- <name> runs one for minutes, with another seed each time.
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fail, prepareDependencies, projectDir, runNode } from './project.mjs';

/** Each runs for seconds among the tests; the setting makes it long. `cases` is every test file with random cases. */
const FUZZERS = new Map([
  ['cases', { files: () => filesWithRandomCases(), long: {} }],
  ['filters', { files: () => ['test/fuzz/filters.ts'], long: { FUZZ_SECONDS: '600' } }],
  ['templates', { files: () => ['packages/jinja2/test/fuzz.test.ts'], long: { FUZZ_RENDERS: '100000' } }],
]);

/** @returns the test files that draw cases by the seed */
function filesWithRandomCases() {
  const files = readdirSync(path.join(projectDir, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.join('test', file));
  const drawing = /\b(testSeed|SEED)\b/;
  return files.filter((file) => file.endsWith('.test.ts') && drawing.test(readFileSync(file, 'utf8')));
}

const [name] = process.argv.slice(2);
if (name === undefined) {
  console.log(`npm run fuzz -- <name>\n\n  ${[...FUZZERS.keys()].join('\n  ')}`);
  process.exit(0);
}
const fuzzer = FUZZERS.get(name);
if (!fuzzer) fail(`there is no fuzzer "${name}"; npm run fuzz lists them`);
await prepareDependencies();
const env = { SEED: String(randomInt(2 ** 31)), ...fuzzer.long, ...process.env };
console.log(`SEED=${env.SEED}`);
process.exit(runNode([path.join(projectDir, 'node_modules/mocha/bin/mocha.js'), ...fuzzer.files()], env));
