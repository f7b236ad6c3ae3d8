// Which test files share a mocha process in npm test, and which run alone.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { projectDir } from './project.mjs';

/** Files that measure time or hold a whole processor: beside others they would measure those. */
const ALONE = [
  'packages/jinja2/test/freezeIntrinsics.test.ts',
  'packages/jinja2/test/poolGroups.test.ts',
  'test/attack/deepResponse.test.ts',
  'test/attack/hangingCarriers.test.ts',
  'test/attack/heavyTemplates.test.ts',
  'test/attack/hiddenRowTiming.test.ts',
  'test/attack/hoardedAttachments.test.ts',
  'test/attack/hugeTransaction.test.ts',
  'test/attack/introspectionFlood.test.ts',
  'test/attack/largeBodies.test.ts',
  'test/attack/largePreviews.test.ts',
  'test/attack/largeRecords.test.ts',
  'test/attack/longVersions.test.ts',
  'test/attack/manyAddresses.test.ts',
  'test/attack/anonymousFlood.test.ts',
  'test/attack/planningFlood.test.ts',
  'test/attack/printedTogether.test.ts',
  'test/attack/reportFloods.test.ts',
  'test/attack/signInBodies.test.ts',
  'test/attack/slowEmails.test.ts',
  'test/attack/slowNames.test.ts',
  'test/attack/slowSuggestions.test.ts',
  'test/attack/slowTemplates.test.ts',
  'test/attack/sweptFiles.test.ts',
  'test/graphql/documents.test.ts',
  'test/worker/idleMeter.test.ts',
];

/**
 * Folders whose files share a mocha process, in the order of their start: the two longest, which start programs and wait for
 * them, one after the other rather than at once, and short ones last, so that both lanes end at about the same time.
 */
const GROUPS = [
  ['processes', 'delivery', 'worker', 'relay', 'queue'],
  ['attack'],
  ['fault', 'commands', 'embedded', 'deploy'],
  ['graphql', 'control'],
  [], // every other folder
  ['api', 'contract', 'health'],
];

/** @returns the files of each mocha process that may run beside another, in the order of their start, and of the one that runs last, alone */
export function testGroups() {
  const files = ['packages/jinja2/test', 'test'].flatMap((folder) =>
    readdirSync(path.join(projectDir, folder), { recursive: true })
      .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
      .filter((name) => name.endsWith('.test.ts'))
      .sort(),
  );
  const missing = ALONE.find((name) => !files.includes(name));
  if (missing !== undefined) throw new Error(`scripts/testGroups.mjs names ${missing}, which is not there`);
  const groups = GROUPS.map(() => []);
  const others = GROUPS.findIndex((folders) => folders.length === 0);
  for (const name of files.filter((file) => !ALONE.includes(file))) {
    const index = GROUPS.findIndex((folders) => folders.includes(name.split('/')[1]));
    groups[index < 0 ? others : index].push(name);
  }
  return { sideBySide: groups, alone: ALONE };
}
