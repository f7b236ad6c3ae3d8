import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { spawnRowpost } from '../../test/support/rowpostProcess.js';
import { httpProtocol } from '../wire/httpProtocol.js';
import { Link, type Target } from '../wire/link.js';
import { postgresProtocol } from '../wire/postgresProtocol.js';
import { redisProtocol } from '../wire/redisProtocol.js';
import { smtpProtocol } from '../wire/smtpProtocol.js';
import type { CallBook } from './calls.js';
import { CanarySearch, type Canary } from './canaries.js';
import type { ExitOfProcess, Member, Part } from './member.js';
import { within } from './within.js';

/** The actual services, without links. */
export interface Services {
  readonly databaseUrl: string;
  /** Through a pooler, for what may go through one. */
  readonly pooledUrl?: string | undefined;
  /** Undefined when the queue is in PostgreSQL. */
  readonly redisUrl: string | undefined;
  readonly providerUrl: string;
  readonly smtpPort: number;
}

export interface MemberOptions {
  readonly services: Services;
  readonly env: Readonly<Record<string, string>>;
  readonly canaries: readonly Canary[];
  /** Records its carrier calls. */
  readonly calls: CallBook;
  /** Called with the names of secrets that the process has printed. */
  readonly onSecrets: (names: readonly string[]) => void;
}

const REDIRECT = new URL('../wire/redirect.mjs', import.meta.url).href;
const START_MS = 60_000;
const LAST_WORDS = 20_000;

/** Starts a built process behind its own links, and waits until it reports that it has started. */
export async function startMember(part: Part, number: number, options: MemberOptions): Promise<Member> {
  const { databaseUrl, pooledUrl, redisUrl, providerUrl, smtpPort } = options.services;
  // With several hosts, Sentinels or a cluster, the process itself must choose.
  const postgres = databaseUrl.includes(',')
    ? undefined
    : await Link.open(
        // The one of the two whose statements its windows are about: of tenants, or of the ledger.
        targetOf(part === 'web' ? (pooledUrl ?? databaseUrl) : databaseUrl),
        postgresProtocol,
      );
  const carrier = await Link.open(targetOf(providerUrl), httpProtocol);
  const redis =
    redisUrl === undefined || redisUrl.includes('+')
      ? undefined
      : await Link.open(targetOf(redisUrl), redisProtocol);
  const smtp = await Link.open({ host: '127.0.0.1', port: smtpPort }, smtpProtocol);
  const links = { ...(postgres ? { postgres } : {}), carrier, smtp, ...(redis ? { redis } : {}) };
  const name = `${part} ${number}`;
  // Watched before it starts: it claims work and calls the carrier before it reports its start.
  const inHand = options.calls.watch(name, links);
  const child = spawnRowpost([part], {
    ...options.env,
    ...databaseEnv(part, options.services, postgres),
    SENDGRID_BASE_URL: through(providerUrl, carrier),
    RESEND_BASE_URL: through(providerUrl, carrier),
    NODE_OPTIONS: `--import=${REDIRECT}`,
    FAULT_REDIRECT: `${smtpPort}:${smtp.port}`,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redis ? through(redisUrl, redis) : redisUrl }),
  });
  endWithUs(child);
  const search = new CanarySearch(options.canaries);
  let words = '';
  let tellStarted: () => void = () => undefined;
  const started = new Promise<void>((resolve) => (tellStarted = resolve));
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      search.push(text);
      words = (words + text).slice(-LAST_WORDS);
      if (words.includes('"started"')) tellStarted();
    });
  }
  const exited = once(child, 'exit').then(([code, signal]): ExitOfProcess => {
    for (const link of Object.values(links)) link.close();
    options.onSecrets([...search.found]);
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  await within(
    START_MS,
    `the start of ${name}`,
    Promise.race([
      started,
      exited.then(({ code }) => {
        throw new Error(`${name} exited ${String(code)} before it had started:\n${words}`);
      }),
    ]),
  );
  if (child.pid === undefined) throw new Error(`${name} has no pid`);
  return {
    part,
    name,
    pid: child.pid,
    links,
    baseUrl: `http://127.0.0.1:${/"port":(\d+)/.exec(words)?.[1] ?? ''}`,
    lastWords: () => words,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    inHand,
    signal: (signal) => void child.kill(signal),
  };
}

const alive = new Set<ChildProcess>();

/** Includes stopped processes, which would wait forever to be resumed. */
function endWithUs(child: ChildProcess): void {
  if (alive.size === 0) process.once('exit', killAll);
  alive.add(child);
  child.once('exit', () => {
    alive.delete(child);
    if (alive.size === 0) process.off('exit', killAll);
  });
}

function killAll(): void {
  for (const child of alive) child.kill('SIGKILL');
}

function targetOf(url: string): Target {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

function through(url: string, link: Link): string {
  return Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(link.port) }).href;
}

function databaseEnv(
  part: Part,
  { databaseUrl, pooledUrl }: Services,
  link: Link | undefined,
): Readonly<Record<string, string>> {
  const linked = (url: string): string => (link ? through(url, link) : url);
  if (pooledUrl === undefined) return { DATABASE_URL: linked(databaseUrl) };
  return {
    PREPARED_STATEMENTS: 'off',
    DATABASE_URL: part === 'web' ? linked(pooledUrl) : pooledUrl,
    DATABASE_DIRECT_URL: part === 'web' ? databaseUrl : linked(databaseUrl),
  };
}
