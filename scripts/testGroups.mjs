// Which test files run side by side in npm test, and which run alone.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { projectDir } from './project.mjs';

/** Files that measure time or hold a whole processor: beside others they would measure those. */
const ALONE = [
  'test/attack/deepAnswer.test.ts',
  'test/attack/hiddenRowTiming.test.ts',
  'test/attack/hugeTransaction.test.ts',
  'test/attack/introspectionFlood.test.ts',
  'test/attack/largeBodies.test.ts',
  'test/attack/nobodyFlood.test.ts',
  'test/attack/planningFlood.test.ts',
  'test/attack/signInBodies.test.ts',
  'test/attack/slowTemplates.test.ts',
  'test/graphql/documents.test.ts',
  'test/templates/hostile.test.ts',
  'test/templates/inlineRenderer.test.ts',
  'test/templates/poolGroups.test.ts',
];

/** Folders that start programs and wait, for them or for what is due later: half of the time, and good neighbours of what computes. */
const OF_PROCESSES = ['test/commands', 'test/delivery', 'test/embedded', 'test/fault', 'test/processes'];

/** @returns the files of each mocha process: those of one stage run side by side, the stages one after the other */
export function testStages() {
  const files = readdirSync(path.join(projectDir, 'test'), { recursive: true })
    .map((name) => path.posix.join('test', name.split(path.sep).join('/')))
    .filter((name) => name.endsWith('.test.ts'))
    .sort();
  const missing = ALONE.find((name) => !files.includes(name));
  if (missing !== undefined) throw new Error(`scripts/testGroups.mjs names ${missing}, which is not there`);
  const others = files.filter((name) => !ALONE.includes(name));
  const isOfProcesses = (name) => OF_PROCESSES.some((folder) => name.startsWith(`${folder}/`));
  return [[others.filter(isOfProcesses), others.filter((name) => !isOfProcesses(name))], [ALONE]];
}
