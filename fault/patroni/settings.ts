// The files of deploy/patroni, but for addresses, folders and passwords.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse, stringify } from 'yaml';

const SHIPPED = path.resolve(import.meta.dirname, '../../deploy/patroni');

export const SUPERUSER = { username: 'postgres', password: 'patroni-superuser' };
export const SCOPE = 'rowpost';
/** The folder of the certificates, beside those of the servers. */
export const CERTIFICATES = 'certificates';

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
  readonly etcd3: object;
  readonly restapi: object;
  readonly postgresql: {
    readonly bin_dir: string;
    readonly parameters: object;
    readonly authentication: Readonly<Record<'superuser' | 'replication' | 'rewind', object>>;
    readonly pg_hba: readonly string[];
  };
}

export async function patroniFile(place: NodePlace): Promise<string> {
  const text = await readFile(path.join(SHIPPED, 'patroni.yml'), 'utf8');
  const shipped = parse(
    text
      .replaceAll('/etc/patroni/ca.crt', certificate(place, 'ca.crt'))
      .replaceAll('/etc/patroni/server', certificate(place, place.name)),
  ) as PatroniFile;
  const { superuser, replication, rewind } = shipped.postgresql.authentication;
  const at = (port: number): string => `127.0.0.1:${port}`;
  return stringify({
    ...shipped,
    scope: SCOPE,
    name: place.name,
    // Proxies, so that Patroni does not ask etcd for a way around its links.
    etcd3: { ...shipped.etcd3, hosts: place.etcdPorts.map(at), use_proxies: true },
    restapi: {
      ...shipped.restapi,
      listen: at(place.apiPort),
      connect_address: at(place.apiPort),
      authentication: { username: 'patroni', password: 'patroni-restapi' },
    },
    postgresql: {
      ...shipped.postgresql,
      listen: at(place.postgresPort),
      connect_address: at(place.postgresPort),
      data_dir: dataFolder(place),
      pgpass: path.join(place.folder, 'pgpass'),
      parameters: { ...shipped.postgresql.parameters, unix_socket_directories: '' },
      authentication: {
        superuser: { ...superuser, ...SUPERUSER },
        replication: { ...replication, password: 'patroni-replicator' },
        rewind: { ...rewind, password: 'patroni-rewinder' },
      },
      // The links between Rowpost and PostgreSQL read what passes.
      pg_hba: shipped.postgresql.pg_hba.map((line) => line.replace('hostssl', 'host')),
    },
  });
}

export async function haproxyFile(port: number, places: readonly NodePlace[], ca: string): Promise<string> {
  const shipped = await readFile(path.join(SHIPPED, 'haproxy.cfg'), 'utf8');
  const servers = places.map(
    ({ name, postgresPort, apiPort }) =>
      `  server ${name} 127.0.0.1:${postgresPort} port ${apiPort} verifyhost ${name}\n`,
  );
  return (
    shipped
      .replace('bind 127.0.0.1:5000', `bind 127.0.0.1:${port}`)
      .replace('/etc/haproxy/patroni-ca.crt', ca)
      .replace(/^ {2}server .*\n/gm, '') + servers.join('')
  );
}

/** Made by deploy/patroni/certificates.sh. */
function certificate({ folder }: NodePlace, name: string): string {
  return path.join(path.dirname(folder), CERTIFICATES, name);
}

export function dataFolder({ folder }: NodePlace): string {
  return path.join(folder, 'data');
}
