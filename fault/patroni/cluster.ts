import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { findFreePort } from '../../src/embedded/freePort.js';
import { serverUser } from '../../src/embedded/systemUser.js';
import { watchOver } from '../../src/embedded/watchdog.js';
import { throwawayDataDir } from '../../test/support/preparedCluster.js';
import { waitFor } from '../../test/support/waitFor.js';
import { bytesProtocol } from '../wire/bytesProtocol.js';
import { Link } from '../wire/link.js';
import { makeCertificates } from './certificates.js';
import { startEtcd } from './etcd.js';
import { patroniEnv, PatroniNode } from './node.js';
import { requirePatroni } from './programs.js';
import { CERTIFICATES, haproxyFile, patroniFile, SCOPE, SUPERUSER, type NodePlace } from './settings.js';

/** Who does what, as etcd has it. */
export interface Roles {
  readonly leader: PatroniNode;
  /** The standby that commits wait for. */
  readonly standby: PatroniNode;
  readonly other: PatroniNode;
}

/** Three servers with Patroni, which elects the primary through etcd; HAProxy in front leads to it. */
export interface PatroniCluster {
  /** All servers, as `DATABASE_URL` has them. */
  readonly hostsUrl: string;
  /** By HAProxy. */
  readonly proxyUrl: string;
  /** Once there are a leader, a synchronous standby, and another standby, and all are on one timeline. */
  whole(): Promise<Roles>;
  /** Once this server leads and accepts writes. */
  leads(node: PatroniNode): Promise<void>;
  /** Once another server leads and accepts writes. */
  leaderAfter(lost: PatroniNode): Promise<void>;
  /** Once it accepts writes without a standby. */
  alone(leader: PatroniNode): Promise<void>;
  /** Once commits wait for another standby. */
  standbyAfter(lost: PatroniNode): Promise<void>;
  /** As an operator does; resolves once Patroni has done it. */
  switchOver(roles: Roles): Promise<void>;
  /** Likewise, of PostgreSQL on one server. */
  restart(node: PatroniNode): Promise<void>;
  stop(): Promise<void>;
}

const NODES = 3;
const START_MS = 60_000;
/** The ttl, and what a busy machine adds. */
const ELECTION_MS = 120_000;
/** A server that is rewound or copied anew. */
const WHOLE_MS = 120_000;
const ASK_MS = 50;
const API_TIMEOUT_MS = 2_000;
const SERVICE = 'rowpost';
const run = promisify(execFile);

/** A server as `/cluster` of the REST API describes it. */
interface Described {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly timeline?: number;
}

export async function startPatroni(): Promise<PatroniCluster> {
  requirePatroni();
  const user = await serverUser(undefined);
  const folder = await throwawayDataDir();
  const makeFolder = async (place: string): Promise<void> => {
    await mkdir(place, { mode: 0o755 });
    if (user) await chown(place, user.uid, user.gid);
  };
  await makeFolder(folder);
  const names = Array.from({ length: NODES }, (_, index) => `db${index + 1}`);
  const credentials = await makeCertificates(folder, names, user);
  const etcd = await startEtcd(folder, credentials, user);
  const nodes: PatroniNode[] = [];
  for (const name of names) {
    const links = await Promise.all(
      etcd.ports.map((port) => Link.open({ host: '127.0.0.1', port }, bytesProtocol)),
    );
    const place: NodePlace = {
      name,
      folder: path.join(folder, name),
      postgresPort: await findFreePort(),
      apiPort: await findFreePort(),
      etcdPorts: links.map(({ port }) => port),
    };
    await makeFolder(place.folder);
    const node = new PatroniNode(place, links, credentials, user);
    await writeFile(node.configFile, await patroniFile(place));
    nodes.push(node);
  }
  const proxyPort = await findFreePort();
  const proxyFile = path.join(folder, 'haproxy.cfg');
  await writeFile(
    proxyFile,
    await haproxyFile(
      proxyPort,
      nodes.map(({ place }) => place),
      path.join(folder, CERTIFICATES, 'ca.crt'),
    ),
  );
  const proxy = spawn('haproxy', ['-f', proxyFile], { stdio: 'ignore', detached: true });
  proxy.once('exit', watchOver(proxy.pid ?? 0, [folder]));
  proxy.unref();

  const password = randomBytes(12).toString('hex');
  const urlOf = (hosts: readonly number[]): string =>
    `postgres://${SERVICE}:${password}@${hosts.map((port) => `127.0.0.1:${port}`).join(',')}/${SERVICE}`;
  const nodeNamed = (name: string): PatroniNode => {
    const found = nodes.find((node) => node.name === name);
    if (!found) throw new Error(`there is no server ${name}`);
    return found;
  };

  async function describe(): Promise<readonly Described[]> {
    const asked = nodes.map(async (node) => {
      const response = await node.ask<{ members: Described[] }>('/cluster', API_TIMEOUT_MS);
      if (!response) throw new Error(`${node.name} is not responding`);
      return response.members;
    });
    return Promise.any(asked);
  }
  async function roleOf(role: 'leader' | 'sync_standby'): Promise<PatroniNode | undefined> {
    const found = (await describe()).find((member) => member.role === role);
    return found && nodeNamed(found.name);
  }

  async function untilLeads(what: string, isRight: (leader: PatroniNode) => boolean): Promise<void> {
    await waitFor(
      what,
      async () => {
        const leader = await roleOf('leader');
        if (!leader || !isRight(leader)) return false;
        const [row] = await asSuperuser<{ leads: boolean }>(
          leader,
          'select not pg_is_in_recovery() as leads',
        );
        return row?.leads;
      },
      { timeoutMs: ELECTION_MS, intervalMs: ASK_MS },
    );
  }

  async function patronictl({ configFile }: PatroniNode, ...command: readonly string[]): Promise<void> {
    const env = patroniEnv(folder);
    await run('patronictl', ['-c', configFile, ...command, '--force'], { env, ...user });
  }

  const cluster: PatroniCluster = {
    hostsUrl: `${urlOf(nodes.map(({ place }) => place.postgresPort))}?target_session_attrs=read-write`,
    proxyUrl: urlOf([proxyPort]),
    whole: () =>
      waitFor(
        'three servers that follow one',
        async () => {
          const members = await describe();
          const leader = members.find(({ role }) => role === 'leader');
          const standby = members.find(({ role }) => role === 'sync_standby');
          const runs = ({ state, timeline }: Described): boolean =>
            /^(running|streaming)$/.test(state) && timeline === leader?.timeline;
          if (!leader || !standby || members.length < NODES || !members.every(runs)) return undefined;
          const [leads, follows] = [nodeNamed(leader.name), nodeNamed(standby.name)];
          const other = nodes.find((node) => node !== leads && node !== follows);
          const [row] = await asSuperuser<{ streaming: number }>(
            leads,
            `select count(*)::int as streaming from pg_stat_replication where state = 'streaming'`,
          );
          if (!other || row?.streaming !== NODES - 1) return undefined;
          return { leader: leads, standby: follows, other };
        },
        { timeoutMs: WHOLE_MS, intervalMs: ASK_MS },
      ),
    leads: (node) => untilLeads(`the lead of ${node.name}`, (leader) => leader === node),
    leaderAfter: (lost) => untilLeads(`a leader after ${lost.name}`, (leader) => leader !== lost),
    async alone(leader) {
      await waitFor(
        'commits that wait for nobody',
        async () => {
          const [row] = await asSuperuser<{ names: string }>(
            leader,
            `select current_setting('synchronous_standby_names') as names`,
          );
          return row?.names === '';
        },
        { timeoutMs: ELECTION_MS, intervalMs: ASK_MS },
      );
    },
    async standbyAfter(lost) {
      await waitFor(
        `a synchronous standby after ${lost.name}`,
        async () => {
          const standby = await roleOf('sync_standby');
          return standby !== undefined && standby !== lost;
        },
        { timeoutMs: ELECTION_MS, intervalMs: ASK_MS },
      );
    },
    switchOver: ({ leader, standby }) =>
      patronictl(leader, 'switchover', SCOPE, '--leader', leader.name, '--candidate', standby.name),
    restart: (node) => patronictl(node, 'restart', SCOPE, node.name),
    async stop() {
      for (const node of nodes) await node.end();
      await etcd.stop();
      if (proxy.exitCode === null && proxy.signalCode === null) {
        proxy.ref();
        const exited = once(proxy, 'exit');
        proxy.kill('SIGKILL');
        await exited;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };

  try {
    for (const node of nodes) await node.start();
    const { leader } = await cluster.whole();
    await asSuperuser(leader, `create role ${SERVICE} login createrole password '${password}'`);
    await asSuperuser(leader, `create database ${SERVICE} owner ${SERVICE}`);
    return cluster;
  } catch (error) {
    const logs = await Promise.all(
      nodes.map(({ place }) => readFile(path.join(place.folder, 'log'), 'utf8').catch(() => '')),
    );
    await cluster.stop();
    throw new Error(`Patroni's cluster does not start:\n${logs.join('\n')}`, { cause: error });
  }
}

async function asSuperuser<Row extends pg.QueryResultRow>(
  { place, credentials: { ca } }: PatroniNode,
  sql: string,
): Promise<readonly Row[]> {
  const { username, password } = SUPERUSER;
  const client = new pg.Client({
    host: '127.0.0.1',
    port: place.postgresPort,
    user: username,
    password,
    database: 'postgres',
    ssl: { ca },
    connectionTimeoutMillis: API_TIMEOUT_MS,
    query_timeout: START_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
