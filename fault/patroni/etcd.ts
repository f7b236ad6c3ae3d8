import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { findFreePort } from '../../src/embedded/freePort.js';
import type { SystemUser } from '../../src/embedded/systemUser.js';
import { watchOver } from '../../src/embedded/watchdog.js';
import { waitFor } from '../../test/support/waitFor.js';

/** Three members of etcd, where Patroni keeps who leads. */
export interface Etcd {
  readonly ports: readonly number[];
  stop(): Promise<void>;
}

const MEMBERS = 3;
const START_MS = 30_000;
/** Of a busy machine: elections that nothing caused would be measured instead of PostgreSQL's. */
const PATIENCE = ['--heartbeat-interval', '250', '--election-timeout', '2500'];

export async function startEtcd(folder: string, user: SystemUser | undefined): Promise<Etcd> {
  const members: { readonly name: string; readonly client: number; readonly peer: number }[] = [];
  for (let number = 1; number <= MEMBERS; number++) {
    members.push({ name: `etcd${number}`, client: await findFreePort(), peer: await findFreePort() });
  }
  const at = (port: number): string => `http://127.0.0.1:${port}`;
  const all = members.map(({ name, peer }) => `${name}=${at(peer)}`).join(',');
  const children = members.map(({ name, client, peer }) => {
    const args = [
      ...['--name', name, '--data-dir', path.join(folder, name)],
      ...['--listen-client-urls', at(client), '--advertise-client-urls', at(client)],
      ...['--listen-peer-urls', at(peer), '--initial-advertise-peer-urls', at(peer)],
      ...['--initial-cluster', all, ...PATIENCE],
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
        const response = await fetch(`${at(client)}/version`);
        return /^\d/.test(((await response.json()) as { etcdcluster: string }).etcdcluster);
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
