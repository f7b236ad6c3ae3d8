import { rotateSigningKey } from '../api/auth/signingKeys.js';
import { withInstallation } from '../process/compose.js';
import { enterSigningKeys } from '../db/cells/directory/cells.js';
import { useDirectory } from '../db/cells/directory/directory.js';
import { ArgumentError, printJson, type Command } from './command.js';

/** Prints one JSON line: {"kid":…,"deleted":[…]}. Running servers sign with the new key within a minute. */
export const token: Command = async ([name, ...args]) => {
  if (name !== 'rotate' || args.length > 0) throw new ArgumentError('token takes rotate');
  return withInstallation(async ({ config, database, keyRing, log }) => {
    const longestSeconds = Math.max(config.accessTokenSeconds, config.refreshTokenSeconds);
    const rotated = await rotateSigningKey(database.pool, keyRing, longestSeconds);
    if (config.directoryUrl !== undefined) {
      await useDirectory(config.directoryUrl, 'rowpost token', log, (directory) =>
        enterSigningKeys(directory, database.pool, rotated.deleted),
      );
    }
    printJson(rotated);
  });
};
