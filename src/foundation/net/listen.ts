import type { Server } from 'node:http';
import type { ListenOptions } from 'node:net';
import { UsageError } from '../errors.js';

/** Where a process listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The settings that choose an address. */
interface AddressSettings {
  readonly host: string;
  readonly port: string;
}

export const WEB_SETTINGS: AddressSettings = { host: 'HOST', port: 'PORT' };
export const HEALTH_SETTINGS: AddressSettings = { host: 'HEALTH_HOST', port: 'HEALTH_PORT' };

/** `::` is every address, and every IPv4 address where the machine has no IPv6. */
export function listenOptions({ host, port }: Address): ListenOptions {
  return host === '::' ? { port } : { host, port };
}

/** Throws UsageError, which names the setting, if the address can't be used. */
export function listen(server: Server, address: Address, settings: AddressSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const problem = problemOf(error, address, settings);
      reject(problem === undefined ? error : new UsageError(problem));
    });
    server.listen(listenOptions(address), () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}

function problemOf(
  { code }: NodeJS.ErrnoException,
  { host, port }: Address,
  settings: AddressSettings,
): string | undefined {
  if (code === 'EADDRINUSE') return `port ${port} is taken: set ${settings.port} to another`;
  if (code === 'EADDRNOTAVAIL') return `this machine has no address ${host}: set ${settings.host} to another`;
  return undefined;
}
