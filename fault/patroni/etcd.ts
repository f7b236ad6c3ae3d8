import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { findFreePort } from '../../src/embedded/freePort.js';
import type { SystemUser } from '../../src/embedded/systemUser.js';
import { watchOver } from '../../src/embedded/watchdog.js';
import { waitFor } from '../../test/support/waitFor.js';
import { queryServer } from './queryServer.js';
import type { Credentials } from './certificates.js';
import { CERTIFICATES } from './settings.js';

/** Three members of etcd, where Patroni keeps who leads. */
export interface Etcd {
  readonly ports: readonly number[];
  stop(): Promise<void>;
}

const MEMBERS = 3;
const START_MS = 30_000;
/** Of a busy machine: elections that nothing caused would be measured instead of PostgreSQL's. */
const PATIENCE = ['--heartbeat-interval', '250', '--election-timeout', '2500'];

export async function startEtcd(
  folder: string,
  credentials: Credentials,
  user: SystemUser | undefined,
): Promise<Etcd> {
  const members: { readonly name: string; readonly client: number; readonly peer: number }[] = [];
  for (let number = 1; number <= MEMBERS; number++) {
    members.push({ name: `etcd${number}`, client: await findFreePort(), peer: await findFreePort() });
  }
  const at = (port: number): string => `https://127.0.0.1:${port}`;
  const all = members.map(({ name, peer }) => `${name}=${at(peer)}`).join(',');
  const security = await securityOf(folder);
  const children = members.map(({ name, client, peer }) => {
    const args = [
      ...['--name', name, '--data-dir', path.join(folder, name)],
      ...['--listen-client-urls', at(client), '--advertise-client-urls', at(client)],
      ...['--listen-peer-urls', at(peer), '--initial-advertise-peer-urls', at(peer)],
      ...['--initial-cluster', all, ...PATIENCE],
      ...security,
    ];
    const child = spawn('etcd', args, { cwd: folder, stdio: 'ignore', detached: true, ...user });
    child.once('exit', watchOver(child.pid ?? 0, []));
    child.unref();
    return child;
  });
  // Patroni ends if it is answered before the members have agreed on a version.
  for (const { client } of members) {
    await waitFor(
      'the members of etcd',
      async () => {
        const { body } = await queryServer(client, '/version', credentials, START_MS);
        return /^\d/.test((body as { etcdcluster: string }).etcdcluster);
      },
      { timeoutMs: START_MS, intervalMs: 100 },
    );
  }
  return {
    ports: members.map(({ client }) => client),
    async stop() {
      await Promise.all(
        children.map(async (child) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          child.ref();
          const exited = once(child, 'exit');
          child.kill('SIGKILL');
          await exited;
        }),
      );
    },
  };
}

/** The arguments that say what deploy/patroni/etcd.yml says. */
async function securityOf(folder: string): Promise<readonly string[]> {
  const shipped = parse(await readFile(SHIPPED, 'utf8')) as Readonly<Record<SecuritySection, Security>>;
  const place = (file: string): string => path.join(folder, CERTIFICATES, FILES[path.basename(file)] ?? '');
  const of = (transport: 'client' | 'peer', prefix: string): string[] => {
    const security = shipped[`${transport}-transport-security`];
    return [
      `--${prefix}client-cert-auth=${String(security['client-cert-auth'])}`,
      `--${prefix}trusted-ca-file=${place(security['trusted-ca-file'])}`,
      `--${prefix}cert-file=${place(security['cert-file'])}`,
      `--${prefix}key-file=${place(security['key-file'])}`,
    ];
  };
  return [...of('client', ''), ...of('peer', 'peer-')];
}

type SecuritySection = `${'client' | 'peer'}-transport-security`;

interface Security {
  readonly 'client-cert-auth': boolean;
  readonly 'trusted-ca-file': string;
  readonly 'cert-file': string;
  readonly 'key-file': string;
}

const SHIPPED = path.resolve(import.meta.dirname, '../../deploy/patroni/etcd.yml');
const FILES: Readonly<Record<string, string>> = {
  'ca.crt': 'ca.crt',
  'server.crt': 'db1.crt',
  'server.key': 'db1.key',
};
