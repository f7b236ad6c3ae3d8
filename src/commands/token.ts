import { rotateSigningKey } from '../api/auth/signingKeys.js';
import { withInstallation } from '../compose.js';
import { UsageError } from '../errors.js';
import type { Command } from './command.js';

const USAGE = `Usage:
  rowpost token rotate    Sign with a new key; tokens signed with the old one stay good until they expire.`;

/** Prints one JSON line: {"kid":…,"deleted":[…]}. Running servers sign with the new key within a minute. */
export const token: Command = async ([name, ...args]) => {
  if (name !== 'rotate' || args.length > 0) throw new UsageError(USAGE);
  return withInstallation(async ({ config, database, keyRing }) => {
    const longestSeconds = Math.max(config.accessTokenSeconds, config.refreshTokenSeconds);
    const rotated = await rotateSigningKey(database.knex, keyRing, longestSeconds);
    process.stdout.write(`${JSON.stringify(rotated)}\n`);
  });
};
