import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { access, mkdir, readdir, readFile, realpath, rename, rm, stat, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureDataFolder } from '../../src/embedded/dataFolder.js';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { runSql } from './runSql.js';
import { createTemplateSql, databaseUrl, migrateTemplate } from './templateDatabase.js';

/** In a prepared cluster: the database that test databases are copied from. */
export const PREPARED_TEMPLATE = 'rowpost_template';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = path.join(PROJECT, 'node_modules/.cache/rowpost-test-postgres');
/** What a prepared cluster is made by. */
const INGREDIENTS = [
  'migrations',
  'src/db/schema/migrate.ts',
  'src/embedded',
  'src/queue',
  'package-lock.json',
  'test/support',
];

/** Prepared clusters, of 75 MB each. */
const KEPT = 6;
const MEMORY_FOLDER = '/dev/shm';
const MIN_FREE_BYTES = 6 * 2 ** 30;

const run = promisify(execFile);

/**
 * Puts a cluster with a migrated template database where an embedded server of `dataDir` looks for its data. initdb and
 * the migrations take seconds; a copy of the folder that they once made takes a tenth of one.
 * @param launcher main file of the npm package that brings another version of PostgreSQL
 */
export async function copyPreparedCluster(
  dataDir: string,
  major: number,
  launcher: string | undefined,
): Promise<void> {
  const prepared = await preparedCluster(major, launcher);
  await ensureDataFolder(dataDir);
  await copy(prepared, path.join(dataDir, 'postgres'));
}

/** @returns its folder; made when missing */
export async function preparedCluster(major: number, launcher: string | undefined): Promise<string> {
  const prepared = path.join(CACHE, `${major}-${await hashOf(INGREDIENTS)}`);
  if (!(await exists(prepared))) await prepare(prepared, major, launcher);
  return prepared;
}

/** The folder appears whole or not at all, and of two runs that prepare it at once, one wins and both use it. */
async function prepare(target: string, major: number, launcher: string | undefined): Promise<void> {
  const dataDir = await throwawayDataDir();
  const server = await startEmbeddedPostgres({
    dataDir,
    ...(launcher === undefined ? {} : { launcher }),
    say: (line) => process.stderr.write(`${line}\n`),
  });
  const home = await realpath(path.join(dataDir, 'postgres'));
  try {
    await runSql(server.url, createTemplateSql(PREPARED_TEMPLATE));
    await migrateTemplate(databaseUrl(server.url, PREPARED_TEMPLATE));
    await server.stop();
    await rm(path.join(home, 'port')); // each copy finds a free one
    await mkdir(CACHE, { recursive: true });
    await removeOldest(KEPT - 1);
    const staged = `${target}.${randomBytes(4).toString('hex')}`;
    await copy(home, staged);
    await rename(staged, target).catch(() => rm(staged, { recursive: true }));
  } finally {
    await server.stop();
    for (const folder of [home, dataDir]) await rm(folder, { recursive: true, force: true });
  }
}

/** Branches with other migrations have their own. */
async function removeOldest(kept: number): Promise<void> {
  const folders = (await readdir(CACHE)).map((name) => path.join(CACHE, name));
  const aged = await Promise.all(
    folders.map(async (folder) => ({ folder, madeMs: (await stat(folder)).mtimeMs })),
  );
  aged.sort((a, b) => b.madeMs - a.madeMs);
  for (const { folder } of aged.slice(kept)) await rm(folder, { recursive: true, force: true });
}

/**
 * A new name for the data of a server that ends with this process: in memory where the system has much of that for
 * files, because creating a database creates 300 files, in half the time there.
 */
export async function throwawayDataDir(): Promise<string> {
  const folder = (await hasRoom(MEMORY_FOLDER)) ? MEMORY_FOLDER : os.tmpdir();
  return path.join(folder, `rowpost-test-${process.pid}-${randomBytes(4).toString('hex')}`);
}

/** Of several runs side by side, each grows to less than two gigabytes. */
async function hasRoom(folder: string): Promise<boolean> {
  const free = await statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0, // no Linux
  );
  return free >= MIN_FREE_BYTES;
}

/** Keeps owners, which Node.js's own copy does not: as root, the server runs under another account. */
async function copy(from: string, to: string): Promise<void> {
  await run('cp', ['-Rp', from, to]);
}

async function hashOf(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const name of paths) {
    const place = path.join(PROJECT, name);
    const files = path.extname(name) === '' ? await filesBelow(place) : [place];
    for (const file of files) hash.update(path.relative(PROJECT, file)).update(await readFile(file));
  }
  return hash.digest('hex').slice(0, 16);
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}

async function exists(place: string): Promise<boolean> {
  return access(place).then(
    () => true,
    () => false,
  );
}
