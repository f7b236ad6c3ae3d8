// Which test files share a mocha process in npm test, and which run alone.
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
  'test/templates/inlineRenderer.test.ts',
  'test/templates/poolGroups.test.ts',
  'test/worker/idleMeter.test.ts',
];

/** Folders whose files share a mocha process, in the order of their start. Those that start programs and wait run beside those that compute. */
const GROUPS = [
  ['fault', 'commands', 'embedded', 'deploy'],
  ['api', 'attack', 'contract', 'health'],
  ['processes', 'delivery', 'worker', 'relay', 'queue'],
  ['graphql', 'control'],
];

/** @returns the files of each mocha process that may run beside another, in the order of their start, and of the one that runs last, alone */
export function testGroups() {
  const files = readdirSync(path.join(projectDir, 'test'), { recursive: true })
    .map((name) => path.posix.join('test', name.split(path.sep).join('/')))
    .filter((name) => name.endsWith('.test.ts'))
    .sort();
  const missing = ALONE.find((name) => !files.includes(name));
  if (missing !== undefined) throw new Error(`scripts/testGroups.mjs names ${missing}, which is not there`);
  const groups = [...GROUPS.map(() => []), []];
  for (const name of files.filter((file) => !ALONE.includes(file))) {
    const index = GROUPS.findIndex((folders) => folders.includes(name.split('/')[1]));
    groups.at(index).push(name); // -1, the last, takes every other folder
  }
  return { sideBySide: groups, alone: ALONE };
}
