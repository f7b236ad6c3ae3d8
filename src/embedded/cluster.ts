import { randomBytes, createHash } from 'node:crypto';
import {
  access,
  chmod,
  chown,
  mkdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import type { Binaries } from './binaries.js';
import { identifier, inOrder, statement, textConstant } from '../db/sql/sql.js';
import { makeFolder } from './dataFolder.js';
import { runProgram } from './runProgram.js';
import type { SystemUser } from './systemUser.js';

/** A PostgreSQL data folder and its password on disk. */
export interface Cluster {
  /** Contains `data/`, `password`, `port` and `server.log`. */
  readonly home: string;
  readonly data: string;
  readonly log: string;
}

/** Role and database of the service. The role is not a superuser; it has the privileges that docs/reference/configuration.md requires. */
const SERVICE_NAME = 'rowpost';

/** Where to put data if PostgreSQL's account can't access our own folder. Only used as root. */
const SYSTEM_DATA_DIR = '/var/lib/rowpost';

function clusterAt(home: string): Cluster {
  return { home, data: path.join(home, 'data'), log: path.join(home, 'server.log') };
}

/** Owner of the data folder, if there is one. */
export async function dataOwner(link: string): Promise<SystemUser | undefined> {
  try {
    const { uid, gid } = await stat(path.join(link, 'data'));
    return { uid, gid };
  } catch {
    return undefined; // Not created yet.
  }
}

/**
 * The folder for the cluster: `<dataDir>/postgres` or, as root, if the server's account can't access that (for example, in
 * a clone below /root), a folder below /var/lib to which `<dataDir>/postgres` links.
 */
export async function placeCluster(
  dataDir: string,
  user: SystemUser | undefined,
  say: (line: string) => void,
): Promise<Cluster> {
  const link = path.join(dataDir, 'postgres');
  const existing = await realpath(link).catch(() => undefined);
  if (existing !== undefined) return clusterAt(existing);
  const inside = path.join(await realpath(dataDir), 'postgres');
  if (await canEnter(user, dataDir)) return clusterAt(inside);
  // If only our own folder is inaccessible, allowing traversal is enough; nothing in it becomes readable.
  await chmod(dataDir, (await stat(dataDir)).mode | 0o011);
  if (await canEnter(user, dataDir)) return clusterAt(inside);

  const elsewhere = path.join(SYSTEM_DATA_DIR, folderNameFor(await realpath(dataDir)));
  await makeFolder(SYSTEM_DATA_DIR, 0o711);
  await symlink(elsewhere, link).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
  say(`PostgreSQL's account can't access ${dataDir}, so its data is in ${elsewhere}`);
  return clusterAt(elsewhere);
}

/**
 * Creates the cluster if it doesn't exist: initdb, the service's role and database, passwords only over TCP. It appears
 * atomically; if two processes create it concurrently, one wins and both use it.
 * @param durable false skips flushing to disk
 */
export async function ensureCluster(
  cluster: Cluster,
  binaries: Binaries,
  user: SystemUser | undefined,
  durable: boolean,
): Promise<void> {
  if (await exists(cluster.data)) return;
  const staged = clusterAt(`${cluster.home}.new-${randomBytes(4).toString('hex')}`);
  try {
    await mkdir(staged.home, { mode: 0o700 });
    if (user) await chown(staged.home, user.uid, user.gid);
    await initialize(staged, binaries, user, durable);
    if (await exists(cluster.data)) return;
    await rename(staged.home, cluster.home).catch((error: unknown) => {
      if (!isTaken(error)) throw error;
    });
  } finally {
    await rm(staged.home, { recursive: true, force: true });
  }
}

/** `postgres://…` of the service's role, for a server on `port`. */
export async function clusterUrl(cluster: Cluster, port: number): Promise<string> {
  const password = (await readFile(path.join(cluster.home, 'password'), 'utf8')).trim();
  return `postgres://${SERVICE_NAME}:${password}@127.0.0.1:${port}/${SERVICE_NAME}`;
}

async function initialize(
  cluster: Cluster,
  binaries: Binaries,
  user: SystemUser | undefined,
  durable: boolean,
): Promise<void> {
  const options = { user, cwd: cluster.home };
  const made = await runProgram(
    binaries.initdb,
    [
      '-D',
      cluster.data,
      '-U',
      'postgres',
      '--auth=trust',
      ...localeArguments(binaries.major),
      '--no-instructions',
      ...(durable ? [] : ['--no-sync']),
    ],
    options,
  );
  if (!made.ok) throw new Error(`initdb failed: ${made.output}`);

  const password = randomBytes(24).toString('base64url');
  await writeFile(path.join(cluster.home, 'password'), `${password}\n`, { mode: 0o600 });
  // The superuser has no password, so no one can log in as it.
  await writeFile(path.join(cluster.data, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  const role = await runProgram(
    binaries.postgres,
    ['--single', '-D', cluster.data, '-c', 'log_min_messages=error', '-c', 'exit_on_error=on', 'postgres'],
    {
      ...options,
      // The server reads a statement a line.
      input: `${inOrder([
        statement`create role ${identifier(SERVICE_NAME)} login createrole createdb password ${textConstant(password)}`,
        statement`create database ${identifier(SERVICE_NAME)} owner ${identifier(SERVICE_NAME)}`,
      ])};\n`,
    },
  );
  if (!role.ok) throw new Error(`the new database could not be set up: ${role.output}`);
}

/** C.UTF-8 sorts by code point and folds case for all of Unicode. Since version 17 it is built in and the same on every system. */
function localeArguments(major: number): string[] {
  if (major < 17) return ['--locale=C.UTF-8', '--encoding=UTF8'];
  return ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--encoding=UTF8'];
}

/** Whether the account can access the folder, according to the system. */
async function canEnter(user: SystemUser | undefined, folder: string): Promise<boolean> {
  if (!user) return true;
  return (await runProgram('test', ['-x', path.resolve(folder)], { user, cwd: '/' })).ok;
}

/** Human-readable, and different for every clone. */
function folderNameFor(dataDir: string): string {
  const clone = path.basename(path.dirname(dataDir)).replace(/[^\w.-]/g, '_');
  return `${clone}-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function isTaken(error: unknown): boolean {
  return ['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '');
}
