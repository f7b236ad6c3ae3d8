import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { prepareBinaries, type Binaries } from '../../src/embedded/binaries.js';
import { findFreePort } from '../../src/embedded/freePort.js';
import { runProgram } from '../../src/embedded/runProgram.js';
import { serverUser, type SystemUser } from '../../src/embedded/systemUser.js';
import { watchOver } from '../../src/embedded/watchdog.js';
import { copyPreparedCluster, throwawayDataDir } from './preparedCluster.js';
import { waitFor } from './waitFor.js';

/** One of two servers, of which one replicates the other. */
export interface ReplicaServer {
  readonly port: number;
  readonly pid: number;
}

/** A primary with a synchronous standby, both real, without fsync. */
export interface ReplicatedPostgres {
  /** Both hosts, as `DATABASE_URL` has them. @param database the service's own by default */
  url(database?: string): string;
  /** Of the primary alone. */
  primaryUrl(database?: string): string;
  /** Of the standby alone. */
  standbyUrl(database?: string): string;
  readonly primary: ReplicaServer;
  readonly standby: ReplicaServer | undefined;
  /** Ends the primary: SIGQUIT at once, SIGINT as `pg_ctl stop -m fast` does. It is no more. */
  stopPrimary(signal: 'SIGQUIT' | 'SIGINT'): Promise<void>;
  /** Stops the primary as it is: its connections stay, and nobody responds on them. `removeOld` ends it. */
  pausePrimary(): Promise<void>;
  /** The one before goes on where it was stopped, and thinks itself the primary. */
  resumeOld(): Promise<void>;
  /** The standby becomes the primary, which has no standby then. The one before may still run: see `removeOld`. */
  promote(): Promise<void>;
  /** Ends the primary that was replaced, if it runs. */
  removeOld(): Promise<void>;
  /** Makes a new standby of the primary, and has commits wait for it. */
  addStandby(): Promise<void>;
  /** A setting of the primary, in force at once; null takes it back. */
  configure(name: string, value: string | null): Promise<void>;
  /** How late the standby replays commits from now on; commits wait only until it has received them. */
  delayStandby(ms: number): Promise<void>;
  /** The standby shows no later commits until `resumeReplay`; commits wait only until it has received them. */
  pauseReplay(): Promise<void>;
  resumeReplay(): Promise<void>;
  /** Stops the standby as it is; its connections stay. Commits don't wait for it. */
  pauseStandby(): Promise<void>;
  resumeStandby(): Promise<void>;
  stop(): Promise<void>;
}

const SERVICE = 'rowpost';
const REPLICATION_PASSWORD = 'replication';
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=200',
  'wal_level=replica',
  'max_wal_senders=8',
  'wal_keep_size=512MB',
  'fsync=off',
  'full_page_writes=on',
  'synchronous_commit=on',
  'hot_standby=on',
  'checkpoint_timeout=1h',
  'wal_sender_timeout=5s',
  'wal_receiver_timeout=5s',
  'wal_retrieve_retry_interval=100ms',
];

const run = promisify(execFile);

interface Server extends ReplicaServer {
  readonly data: string;
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
}

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const folder = await throwawayDataDir();
  await mkdir(folder, { mode: 0o755 });
  const user = await serverUser(undefined);
  const binaries = await prepareBinaries(undefined, user, folder, () => undefined);
  await copyPreparedCluster(folder, 18, undefined);
  const home = path.join(folder, 'postgres');
  const password = (await readFile(path.join(home, 'password'), 'utf8')).trim();
  const first = path.join(home, 'data');
  await allowReplication(first, binaries, user);

  const ports = [await findFreePort(), await findFreePort()] as const;
  let count = 0;
  let primary = await launch(first, ports[0]);
  let standby: Server | undefined;
  let old: Server | undefined;

  async function launch(data: string, port: number): Promise<Server> {
    const args = ['-D', data, '-p', String(port), ...SETTINGS.flatMap((setting) => ['-c', setting])];
    const child = spawn(binaries.postgres, args, { cwd: folder, stdio: 'ignore', detached: true, ...user });
    const pid = child.pid ?? 0;
    const callOff = watchOver(pid, [folder]);
    const exited = once(child, 'exit').finally(callOff);
    child.unref();
    await waitFor(`PostgreSQL on port ${port}`, () => asService(port, 'select'));
    return { port, pid, data, child, exited };
  }
  async function asService(port: number, sql: string): Promise<pg.QueryResult> {
    const client = new pg.Client({ connectionString: urlOf([port]), connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await client.query(sql);
    } finally {
      await client.end();
    }
  }
  function urlOf(list: readonly number[], database = SERVICE): string {
    const hosts = list.map((port) => `127.0.0.1:${port}`).join(',');
    return `postgres://${SERVICE}:${password}@${hosts}/${database}`;
  }
  function theStandby(): Server {
    if (!standby) throw new Error('there is no standby');
    return standby;
  }
  async function end({ child, exited }: Server, signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    await signalAll(child.pid ?? 0, 'SIGCONT');
    child.kill(signal);
    await exited;
  }
  /** As a superuser would with ALTER SYSTEM. */
  async function configure({ data, pid }: Server, name: string, value: string | null): Promise<void> {
    const file = path.join(data, 'postgresql.auto.conf');
    const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => !line.startsWith(`${name} `));
    await writeFile(file, [...lines, ...(value === null ? [] : [`${name} = '${value}'`]), ''].join('\n'));
    process.kill(pid, 'SIGHUP');
  }

  const pair: ReplicatedPostgres = {
    url: (database) => urlOf(ports, database),
    primaryUrl: (database) => urlOf([primary.port], database),
    standbyUrl: (database) => urlOf([theStandby().port], database),
    get primary() {
      return primary;
    },
    get standby() {
      return standby;
    },
    stopPrimary: (signal) => end(primary, signal),
    pausePrimary: () => signalAll(primary.pid, 'SIGSTOP'),
    async resumeOld() {
      if (old) await signalAll(old.pid, 'SIGCONT');
    },
    async promote() {
      const promoted = theStandby();
      const { pid, data, port } = promoted;
      await configure(promoted, 'synchronous_standby_names', null);
      await writeFile(path.join(data, 'promote'), '');
      process.kill(pid, 'SIGUSR1');
      await waitFor('the promotion', async () => {
        const { rows } = await asService(port, 'select pg_is_in_recovery() as standby');
        return !(rows[0] as { standby: boolean }).standby;
      });
      old = primary;
      primary = promoted;
      standby = undefined;
    },
    async removeOld() {
      if (old) {
        await end(old, 'SIGQUIT');
        await rm(old.data, { recursive: true });
      }
      old = undefined;
    },
    async addStandby() {
      await pair.removeOld();
      const data = path.join(home, `data-${++count}`);
      await copyPrimary(primary, data);
      await configureStandby(data, primary.port, user);
      const port = ports.find((candidate) => candidate !== primary.port) ?? 0;
      standby = await launch(data, port);
      await configure(primary, 'synchronous_standby_names', '*');
      await waitFor('a synchronous standby', async () => {
        const sql = `select 1 from pg_stat_get_wal_senders() where sync_state = 'sync'`;
        return ((await asService(primary.port, sql)).rowCount ?? 0) > 0;
      });
    },
    configure: (name, value) => configure(primary, name, value),
    delayStandby: (ms) => configure(theStandby(), 'recovery_min_apply_delay', `${ms}ms`),
    async pauseReplay() {
      const { port } = theStandby();
      await asService(port, 'select pg_wal_replay_pause()');
      await waitFor('the standby to pause', async () => {
        const { rows } = await asService(port, 'select pg_get_wal_replay_pause_state() as state');
        return (rows[0] as { state: string }).state === 'paused';
      });
    },
    async resumeReplay() {
      await asService(theStandby().port, 'select pg_wal_replay_resume()');
    },
    async pauseStandby() {
      await configure(primary, 'synchronous_standby_names', null);
      await signalAll(theStandby().pid, 'SIGSTOP');
    },
    resumeStandby: () => signalAll(theStandby().pid, 'SIGCONT'),
    async stop() {
      for (const server of [old, standby, primary]) if (server) await end(server, 'SIGQUIT');
      await rm(folder, { recursive: true, force: true });
    },
  };

  /** A base backup while the primary works: pg_basebackup is not among the programs that npm brings. */
  async function copyPrimary({ port, data }: Server, target: string): Promise<void> {
    const client = new pg.Client({ connectionString: urlOf([port]) });
    await client.connect();
    try {
      await client.query(`select pg_backup_start('standby', true)`);
      await run('cp', ['-a', data, target]).catch((error: unknown) => {
        // Files may go while they are copied; WAL brings back what matters.
        if ((error as { code?: unknown }).code !== 1) throw error;
      });
      const { rows } = await client.query<{ label: string }>(
        'select labelfile as label from pg_backup_stop(false)',
      );
      await writeFile(path.join(target, 'backup_label'), rows[0]?.label ?? '');
    } finally {
      await client.end();
    }
  }

  await pair.addStandby();
  return pair;
}

/** A server with its sessions, which are processes of their own. */
async function signalAll(pid: number, signal: NodeJS.Signals): Promise<void> {
  process.kill(pid, signal);
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=']);
  for (const line of stdout.split('\n')) {
    const [child, parent] = line.trim().split(/\s+/).map(Number);
    if (parent !== pid || child === undefined) continue;
    try {
      process.kill(child, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

async function allowReplication(
  data: string,
  binaries: Binaries,
  user: SystemUser | undefined,
): Promise<void> {
  await appendFile(path.join(data, 'pg_hba.conf'), 'host replication all 127.0.0.1/32 scram-sha-256\n');
  const granted = await runProgram(
    binaries.postgres,
    ['--single', '-D', data, '-c', 'log_min_messages=error', '-c', 'exit_on_error=on', 'rowpost'],
    {
      user,
      cwd: path.dirname(data),
      input: `create role replicator login replication password '${REPLICATION_PASSWORD}';
grant execute on function pg_backup_start, pg_backup_stop, pg_wal_replay_pause, pg_wal_replay_resume to ${SERVICE};
grant pg_monitor to ${SERVICE};
`,
    },
  );
  if (!granted.ok) throw new Error(`replication could not be allowed: ${granted.output}`);
}

async function configureStandby(
  data: string,
  primaryPort: number,
  user: SystemUser | undefined,
): Promise<void> {
  await rm(path.join(data, 'postmaster.pid'), { force: true });
  const source = `host=127.0.0.1 port=${primaryPort} user=replicator password=${REPLICATION_PASSWORD}`;
  const files = { 'standby.signal': '', 'postgresql.auto.conf': `primary_conninfo = '${source}'\n` };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(data, name), text);
  for (const name of [...Object.keys(files), 'backup_label']) {
    if (user) await chown(path.join(data, name), user.uid, user.gid);
  }
}
