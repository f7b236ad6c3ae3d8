import { readHost, type HostAddress } from './hostAddress.js';

/** `REDIS_URL` in parts. */
export type RedisAddress =
  | { readonly kind: 'server'; readonly url: string }
  /** The server that Sentinels name as the primary. */
  | (Access & {
      readonly kind: 'sentinel';
      /** The Sentinels, which know the primary's address. */
      readonly hosts: readonly HostAddress[];
      /** The name under which they watch it. */
      readonly primaryName: string;
      readonly database: number;
      /** For the Sentinels themselves, if they require authentication. */
      readonly sentinelUsername: string | undefined;
      readonly sentinelPassword: string | undefined;
    })
  | (Access & {
      readonly kind: 'cluster';
      /** Some of its nodes, which know the others. */
      readonly hosts: readonly HostAddress[];
    });

interface Access {
  readonly isTls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const SENTINEL_PORT = 26379;
const NODE_PORT = 6379;
const SENTINEL_PARAMETERS: readonly string[] = ['sentinel_username', 'sentinel_password'];
/** Scheme, user and password, hosts, path and query. Everything up to the last `@` is user and password. */
const PARTS = /^(rediss?)\+(sentinel|cluster):\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/s;

/** Throws an Error whose message follows the variable's name and quotes nothing of the URL, which may hold a password. */
export function parseRedisUrl(url: string): RedisAddress {
  if (/^rediss?:\/\//.test(url) && URL.canParse(url)) return readServer(url);
  const [, scheme, kind, user, hosts, path = '', query] = PARTS.exec(url) ?? [];
  if (kind === undefined || hosts === undefined) {
    throw new Error('is not a redis, rediss, redis+sentinel or redis+cluster URL');
  }
  const parameters = new URLSearchParams(query);
  const allowed = kind === 'sentinel' ? SENTINEL_PARAMETERS : [];
  const names = [...parameters.keys()];
  if (new Set(names).size < names.length) throw new Error('has a parameter twice');
  if (names.some((name) => !allowed.includes(name))) {
    throw new Error(`has a parameter that is not ${allowed.join(' or ') || 'known: a cluster has none'}`);
  }
  const access = { isTls: scheme === 'rediss', ...readUser(user) };
  if (kind === 'cluster') {
    if (path !== '' && path !== '0') throw new Error('names a database: a Redis Cluster has only 0');
    return { kind, ...access, hosts: readHosts(hosts, NODE_PORT) };
  }
  const [primaryName = '', database = '0', ...rest] = path.split('/');
  if (primaryName === '' || rest.length > 0 || !/^\d+$/.test(database)) {
    throw new Error(
      'needs the name by which the Sentinels know the primary, and the number of a database if it is not 0: redis+sentinel://host:26379/mymaster/0',
    );
  }
  return {
    kind: 'sentinel',
    ...access,
    hosts: readHosts(hosts, SENTINEL_PORT),
    primaryName: decode(primaryName),
    database: Number(database),
    sentinelUsername: parameters.get('sentinel_username') ?? undefined,
    sentinelPassword: parameters.get('sentinel_password') ?? undefined,
  };
}

/** ioredis would take a path such as `/x` for the database NaN, and what stands before a # for the host. */
function readServer(url: string): RedisAddress {
  const { pathname, hash, username, password } = new URL(url);
  if (!/^\/?\d*$/.test(pathname)) throw new Error('has a path that is not the number of a database');
  if (hash !== '') throw new Error('has a # that is not part of its syntax: write %23');
  decode(username);
  decode(password);
  return { kind: 'server', url };
}

function readHosts(text: string, defaultPort: number): readonly HostAddress[] {
  return text.split(',').map((item) => {
    const address = readHost(item, defaultPort);
    if (address.host === '') throw new Error('has a host that is not host or host:port');
    return address;
  });
}

function readUser(text = ''): Pick<Access, 'username' | 'password'> {
  const colon = text.indexOf(':');
  const part = (value: string): string | undefined => (value === '' ? undefined : decode(value));
  if (colon < 0) return { username: part(text), password: undefined };
  return { username: part(text.slice(0, colon)), password: part(text.slice(colon + 1)) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('has a % that is not followed by two hexadecimal digits');
  }
}
