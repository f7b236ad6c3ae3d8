import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { prepareBinaries } from '../../src/embedded/binaries.js';
import { findFreePort } from '../../src/embedded/freePort.js';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { runProgram } from '../../src/embedded/runProgram.js';
import { serverUser } from '../../src/embedded/systemUser.js';
import { watchOver } from '../../src/embedded/watchdog.js';
import { copyPreparedCluster, PREPARED_TEMPLATE, throwawayDataDir } from './preparedCluster.js';
import { waitFor } from './waitFor.js';

/** A PostgreSQL behind PgBouncer in transaction mode. */
export interface PooledPostgres {
  /** Of PostgreSQL itself. */
  readonly url: string;
  readonly pgbouncerPort: number;
  /** Stopped as it is with SIGSTOP, until SIGCONT; SIGKILL ends it, and its connections. */
  signalPgBouncer(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): Promise<void>;
  /** After its end, where it was. */
  startPgBouncer(): Promise<void>;
  stop(): Promise<void>;
}

export function hasPgBouncer(): boolean {
  return spawnSync('pgbouncer', ['--version']).status === 0;
}

const PASSWORD = 'pgbouncer';
/** As docs/how-to/poolers.md has it: PgBouncer looks the passwords of all roles up itself. */
const LOOKUP = `create schema pgbouncer;
create function pgbouncer.lookup(name text) returns table (usename name, passwd text) language sql security definer set search_path = pg_catalog as 'select usename, passwd from pg_shadow where usename = $1';
revoke all on function pgbouncer.lookup(text) from public;
grant usage on schema pgbouncer to pgbouncer;
grant execute on function pgbouncer.lookup(text) to pgbouncer;
`;

/** @param settings lines of pgbouncer.ini over our own */
export async function startPooledPostgres(settings: readonly string[] = []): Promise<PooledPostgres> {
  const dataDir = await throwawayDataDir();
  const user = await serverUser(undefined);
  await copyPreparedCluster(dataDir, 18, undefined);
  const home = path.join(dataDir, 'postgres');
  const binaries = await prepareBinaries(undefined, user, dataDir, () => undefined);
  const role = `create role pgbouncer login password '${PASSWORD}';\ngrant pgbouncer to rowpost;\n`;
  for (const [database, input] of [
    ['rowpost', role + LOOKUP],
    [PREPARED_TEMPLATE, LOOKUP],
  ] as const) {
    const args = ['--single', '-D', path.join(home, 'data'), '-c', 'log_min_messages=error'];
    const made = await runProgram(binaries.postgres, [...args, '-c', 'exit_on_error=on', database], {
      user,
      cwd: home,
      input,
    });
    if (!made.ok) throw new Error(`PgBouncer's role could not be made: ${made.output}`);
  }
  const postgres = await startEmbeddedPostgres({ dataDir, throwaway: true, say: () => undefined });
  const { port } = new URL(postgres.url);
  const pgbouncerPort = await findFreePort();
  const folder = path.join(home, 'pgbouncer');
  await mkdir(folder);
  const service = (await readFile(path.join(home, 'password'), 'utf8')).trim();
  const files = {
    'users.txt': `"pgbouncer" "${PASSWORD}"\n"rowpost" "${service}"\n`,
    'pgbouncer.ini': [
      '[databases]',
      `* = host=127.0.0.1 port=${port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${pgbouncerPort}`,
      'unix_socket_dir =',
      'pool_mode = transaction',
      'max_client_conn = 1000',
      'default_pool_size = 20',
      // A role's idle session keeps its database from being dropped.
      'server_idle_timeout = 3',
      'auth_type = scram-sha-256',
      `auth_file = ${folder}/users.txt`,
      'auth_user = pgbouncer',
      'auth_query = select usename, passwd from pgbouncer.lookup($1)',
      `logfile = ${folder}/log`,
      ...settings,
      '',
    ].join('\n'),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  for (const name of ['.', ...Object.keys(files)]) {
    if (user) await chown(path.join(folder, name), user.uid, user.gid);
  }
  const log = path.join(folder, 'log');
  const launch = async (): Promise<Launched> => {
    await rm(log, { force: true });
    const child = spawn('pgbouncer', [path.join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...user });
    const exited = once(child, 'exit').finally(watchOver(child.pid ?? 0, []));
    child.unref();
    await waitFor('PgBouncer', async () => (await readFile(log, 'utf8')).includes('process up'));
    return { child, exited };
  };
  const end = async ({ child, exited }: Launched, signal: NodeJS.Signals): Promise<void> => {
    child.ref();
    child.kill(signal);
    await exited;
  };
  let launched = await launch();
  return {
    url: postgres.url,
    pgbouncerPort,
    async signalPgBouncer(signal) {
      if (signal === 'SIGKILL') await end(launched, signal);
      else launched.child.kill(signal);
    },
    async startPgBouncer() {
      launched = await launch();
    },
    async stop() {
      await end(launched, 'SIGQUIT');
      await postgres.stop();
    },
  };
}

interface Launched {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
}

/** The same database through PgBouncer. */
export function throughPgBouncer(url: string, { pgbouncerPort }: PooledPostgres): string {
  return Object.assign(new URL(url), { port: String(pgbouncerPort) }).href;
}
