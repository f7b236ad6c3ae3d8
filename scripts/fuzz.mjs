// npm run fuzz: lists what has a fuzzer, test/<name>/fuzz.test.ts; npm run fuzz -- <name> runs it for long.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fail, prepareDependencies, projectDir, runNode } from './project.mjs';

const RENDERS = '100000';

const folder = path.join(projectDir, 'test');
const [name] = process.argv.slice(2);
const names = readdirSync(folder).filter((entry) => existsSync(testFile(entry)));
if (name === undefined) {
  console.log(`npm run fuzz -- <name>\n\n  ${names.join('\n  ')}`);
  process.exit(0);
}
if (!names.includes(name)) fail(`there is no fuzzer "${name}"; npm run fuzz lists them`);
await prepareDependencies();
const env = { FUZZ_RENDERS: process.env.FUZZ_RENDERS ?? RENDERS };
process.exit(runNode([path.join(projectDir, 'node_modules/mocha/bin/mocha.js'), testFile(name)], env));

function testFile(entry) {
  return path.join(folder, entry, 'fuzz.test.ts');
}
