import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import type { Cluster } from './cluster.js';

/** A TCP port of 127.0.0.1 that is currently free: the wanted one, or any other if that is taken. */
export async function findFreePort(wanted = 0): Promise<number> {
  if (wanted !== 0 && (await isTaken(wanted))) return findFreePort();
  const probe = createServer().listen(wanted, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

async function isTaken(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  // `once` rejects if the socket emits an error instead.
  const isConnected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

/** The port of the cluster's previous start, so that clients find it again; any free port at the first. */
export async function preferredPort(cluster: Cluster): Promise<number> {
  const remembered = Number(await readFile(portFile(cluster), 'utf8').catch(() => ''));
  return Number.isInteger(remembered) && remembered > 0 ? remembered : findFreePort();
}

export async function rememberPort(cluster: Cluster, port: number): Promise<void> {
  await writeFile(portFile(cluster), `${port}\n`);
}

function portFile(cluster: Cluster): string {
  return path.join(cluster.home, 'port');
}
