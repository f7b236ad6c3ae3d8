import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type pg from 'pg';
import { parseDatabaseUrl } from '../../../config/databaseUrl.js';
import { UsageError } from '../../../foundation/errors.js';
import type { Database } from '../../pool/database.js';

/** A database that a tenant's structure or tables are read from, or restored into. */
export interface DumpEnd {
  readonly database: Database;
  /** Has the parameters of TLS. Undefined for an embedded PostgreSQL. */
  readonly url: string | undefined;
}

/**
 * Runs pg_dump or pg_restore logged in as a session that is open. Where what they send may run a tenant's code, whatever its objects are
 * called, that is the tenant's. Throws UsageError when the program is missing, older than the server, or fails.
 */
export function runLoggedIn(
  session: pg.Client,
  url: DumpEnd['url'],
  program: 'pg_dump' | 'pg_restore',
  args: readonly string[],
): Promise<string> {
  return runProgram(program, args, { ...connectionEnv(session, url), PGAPPNAME: applicationName(program) });
}

/** By which PostgreSQL shows its sessions. */
export const applicationName = (program: 'pg_dump' | 'pg_restore'): string => `rowpost ${program}`;

/** Runs `work` with a session of the tenant's, whoever serves it. */
export async function withTenantSession<T>(
  { tenants }: Database,
  tenantid: number,
  work: (session: pg.Client) => Promise<T>,
): Promise<T> {
  const session = await tenants.connectDirectly(tenantid);
  session.on('error', () => undefined);
  try {
    return await work(session);
  } finally {
    await session.end();
  }
}

/** A tenant's objects and errors may be of any size, of which the programs print all. */
const MAX_OUTPUT = 256 * 1024 * 1024;
const MAX_ERROR = 16 * 1024;

/** Throws UsageError when the program is missing, fails or prints too much. @returns what it printed */
export async function runProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...Object.fromEntries(inherited), ...env },
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => {
      reject(
        new UsageError(`${program} can't be run (${error.message}): install PostgreSQL's client programs`),
      );
    });
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, status] = await Promise.race([
    Promise.all([readStart(child.stdout, MAX_OUTPUT), readStart(child.stderr, MAX_ERROR), closed]),
    failed,
  ]);
  if (status !== 0)
    throw new UsageError(`${program} failed:\n${stderr.text.trim()}${stderr.isCut ? ' …' : ''}`);
  if (stdout.isCut) throw new UsageError(`${program} printed more than ${MAX_OUTPUT >> 20} MiB`);
  return stdout.text;
}

/** Reads all, so that whoever writes goes on, and keeps the start. */
async function readStart(
  stream: Readable,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const kept: Buffer[] = [];
  let left = maxBytes;
  let isCut = false;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (left > 0) kept.push(chunk.subarray(0, left));
    isCut ||= chunk.length > left;
    left = Math.max(0, left - chunk.length);
  }
  return { text: Buffer.concat(kept).toString(), isCut };
}

const TLS_PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'];

/** To the server of an open session, as its role. In the environment, since other users can read a process's arguments. */
function connectionEnv(
  { host, port, user, password, database }: pg.Client,
  url: string | undefined,
): Record<string, string> {
  const parameters = url === undefined ? undefined : new URL(parseDatabaseUrl(url).url).searchParams;
  const tls = TLS_PARAMETERS.flatMap((name) => {
    const value = parameters?.get(name);
    return value == null ? [] : [[`PG${name.toUpperCase()}`, value]];
  });
  return {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user ?? '',
    PGPASSWORD: typeof password === 'string' ? password : '',
    PGDATABASE: database ?? '',
    ...(Object.fromEntries(tls) as Record<string, string>),
  };
}
