// npm run bench: lists the benchmarks, bench/<name>/run.ts; npm run bench -- <name> runs one.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fail, prepareProject, projectDir, runNode } from './project.mjs';

const folder = path.join(projectDir, 'bench');
const [name, ...args] = process.argv.slice(2);
if (name === undefined) {
  console.log('npm run bench -- <name>\n');
  for (const bench of listBenches()) console.log(`  ${bench.padEnd(14)} ${summaryOf(bench)}`);
  process.exit(0);
}
if (!listBenches().includes(name)) fail(`there is no benchmark "${name}"; npm run bench lists them`);
await prepareProject();
process.exit(runNode(['--import', 'tsx', mainFile(name), ...args]));

function listBenches() {
  return readdirSync(folder).filter((entry) => existsSync(mainFile(entry)));
}

function mainFile(bench) {
  return path.join(folder, bench, 'run.ts');
}

/** The comment that its file begins with. */
function summaryOf(bench) {
  const [first = ''] = readFileSync(mainFile(bench), 'utf8').split('\n');
  return first.replace(/^\/\/\s*/, '');
}
