import { restoreDump } from '../control/tenants/restoreDump.js';
import { openInstallation } from '../process/compose.js';
import { dumpEndOf } from './cells.js';
import { ArgumentError, printJson, type Command } from './command.js';
import { readOptions } from './options.js';

/** Restores a dump of an installation into an empty database. Prints one JSON line. @returns 1 if a tenant could not be restored */
export const restore: Command = async (args) => {
  const { file } = readOptions(args, ['file']);
  if (file === undefined) throw new ArgumentError('--file is missing');
  const installation = await openInstallation('restore', 'command');
  try {
    const say = (sentence: string): void => void process.stderr.write(`${sentence}\n`);
    const { tenants, problems } = await restoreDump(dumpEndOf(installation), file, { say });
    printJson({ tenants });
    for (const problem of problems) say(problem);
    return problems.length === 0 ? 0 : 1;
  } finally {
    await installation.stop();
  }
};
