import { readHost, type HostAddress } from './hostAddress.js';

/** A parsed `DATABASE_URL`, in libpq's syntax, which allows several hosts. */
export interface DatabaseAddress {
  /** At least one, in the given order. */
  readonly hosts: readonly HostAddress[];
  /** The URL with only its first host, as drivers expect it. */
  readonly url: string;
  /** Whether a server whose sessions are read-only by default is skipped, as a standby always is. */
  readonly requiresWritableSessions: boolean;
}

const DEFAULT_PORT = 5432;
/** Scheme and user, hosts, and the rest. Everything up to the last `@` is user and password. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;
/** Those of libpq and, of pg, `no-verify`. pg takes any other for `verify-full`, also `DISABLE`. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** Throws an Error whose message follows the variable's name and quotes nothing of the URL, which may contain a password. */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  const [, start, authority, rest] = PARTS.exec(url) ?? [];
  if (start === undefined || authority === undefined || rest === undefined) {
    throw new Error('is not a postgres or postgresql URL');
  }
  const given = authority.split(',');
  const hosts = given.map((host) => readHost(host, DEFAULT_PORT));
  const first = `${start}${given[0] ?? ''}${rest}`;
  if (!URL.canParse(first)) throw new Error('is not a postgres or postgresql URL');
  if (/[\t\n\r]|%(?![0-9a-f]{2})/i.test(url)) {
    throw new Error('has a line break, or a % that is not followed by two hexadecimal digits');
  }
  const { href, pathname, hash, searchParams } = new URL(first);
  // Otherwise a password that contains / or # ends early, and the rest of it names a host and a database.
  if (/[@/]/.test(pathname.slice(1)) || hash !== '') {
    throw new Error('has a /, an @ or a # that is not part of its syntax: write %2F, %40 and %23');
  }
  if (given.length > 1 && (searchParams.has('host') || hosts.some(({ host }) => host === ''))) {
    throw new Error('names hosts twice, before the database and as host=, or has an empty one');
  }
  checkParameters(searchParams);
  return {
    hosts: hosts.filter((host, index) => hosts.findIndex((other) => isSame(host, other)) === index),
    url: href,
    requiresWritableSessions: readSessionAttributes(searchParams.get('target_session_attrs') ?? 'any'),
  };
}

function isSame(one: HostAddress, other: HostAddress): boolean {
  return one.host.toLowerCase() === other.host.toLowerCase() && one.port === other.port;
}

function checkParameters(parameters: URLSearchParams): void {
  const names = [...parameters.keys()];
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  // Of two, URL would take the first, pg the last.
  if (repeated !== undefined) throw new Error('has a parameter twice');
  const mode = parameters.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) {
    throw new Error(`has an sslmode that is not one of ${SSL_MODES.join(', ')}`);
  }
}

/** All connections write, so `any` means the primary. */
function readSessionAttributes(value: string): boolean {
  if (value === 'read-write') return true;
  if (value === 'any' || value === 'primary') return false;
  throw new Error('needs a server that accepts writes: target_session_attrs is read-write or primary');
}
