import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { UsageError } from '../foundation/errors.js';

const run = promisify(execFile);

/** The account that a program runs as, if not our own. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root. These accounts exist on most systems; the first one found is used. */
const UNPRIVILEGED_ACCOUNTS = ['postgres', 'nobody'];

/**
 * The account for PostgreSQL: undefined (our own) unless we are root.
 * @param dataOwner owner of an existing data folder: as root, its server keeps running under that account
 */
export async function serverUser(dataOwner: SystemUser | undefined): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if (dataOwner && dataOwner.uid !== 0) return dataOwner;
  for (const account of UNPRIVILEGED_ACCOUNTS) {
    const user = await lookUp(account);
    if (user) return user;
  }
  throw new UsageError(
    `PostgreSQL does not run as root, and there is no account ${UNPRIVILEGED_ACCOUNTS.join(' or ')} to run it; ` +
      'start Rowpost as an ordinary user, or set DATABASE_URL',
  );
}

async function lookUp(account: string): Promise<SystemUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', account]), run('id', ['-g', account])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined; // `id` fails if there is no such account.
  }
}
