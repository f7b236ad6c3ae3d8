// The files of deploy/patroni, but for addresses, folders and passwords.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse, stringify } from 'yaml';

const SHIPPED = path.resolve(import.meta.dirname, '../../deploy/patroni');

export const SUPERUSER = { username: 'postgres', password: 'patroni-superuser' };
export const SCOPE = 'rowpost';

/** Where the parts of one server are. */
export interface NodePlace {
  readonly name: string;
  readonly folder: string;
  readonly postgresPort: number;
  readonly apiPort: number;
  /** Its own way to each member of etcd. */
  readonly etcdPorts: readonly number[];
}

interface PatroniFile {
  readonly bootstrap: { readonly dcs: object };
  readonly postgresql: { readonly bin_dir: string };
}

export async function patroniFile(place: NodePlace): Promise<string> {
  const shipped = parse(await readFile(path.join(SHIPPED, 'patroni.yml'), 'utf8')) as PatroniFile;
  const at = (port: number): string => `127.0.0.1:${port}`;
  return stringify({
    ...shipped,
    scope: SCOPE,
    name: place.name,
    // Proxies, so that Patroni does not ask etcd for a way around its links.
    etcd3: { hosts: place.etcdPorts.map(at), use_proxies: true },
    restapi: { listen: at(place.apiPort), connect_address: at(place.apiPort) },
    postgresql: {
      ...shipped.postgresql,
      listen: at(place.postgresPort),
      connect_address: at(place.postgresPort),
      data_dir: dataFolder(place),
      pgpass: path.join(place.folder, 'pgpass'),
      parameters: { unix_socket_directories: '' },
      authentication: {
        superuser: SUPERUSER,
        replication: { username: 'replicator', password: 'patroni-replicator' },
        rewind: { username: 'rewinder', password: 'patroni-rewinder' },
      },
      pg_hba: [
        'host all all 127.0.0.1/32 scram-sha-256',
        'host replication replicator 127.0.0.1/32 scram-sha-256',
      ],
    },
  });
}

export async function haproxyFile(port: number, places: readonly NodePlace[]): Promise<string> {
  const shipped = await readFile(path.join(SHIPPED, 'haproxy.cfg'), 'utf8');
  const servers = places.map(
    ({ name, postgresPort, apiPort }) => `  server ${name} 127.0.0.1:${postgresPort} port ${apiPort}\n`,
  );
  return (
    shipped.replace('bind :5000', `bind 127.0.0.1:${port}`).replace(/^ {2}server .*\n/gm, '') +
    servers.join('')
  );
}

export function dataFolder({ folder }: NodePlace): string {
  return path.join(folder, 'data');
}
