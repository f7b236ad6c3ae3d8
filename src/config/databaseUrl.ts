/** Where a PostgreSQL server listens. */
export interface DatabaseHost {
  readonly host: string;
  readonly port: number;
}

/** A parsed `DATABASE_URL`, in libpq's syntax, which allows several hosts. */
export interface DatabaseAddress {
  /** At least one, in the given order. */
  readonly hosts: readonly DatabaseHost[];
  /** The URL with only its first host, as drivers expect it. */
  readonly url: string;
  /** Whether a server whose sessions are read-only by default is skipped, as a standby always is. */
  readonly requiresWritableSessions: boolean;
}

const DEFAULT_PORT = 5432;
/** Scheme and user, hosts, and the rest. Everything up to the last `@` is user and password. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;
const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::(\d+))?$/i;

/** Throws an Error whose message follows the variable's name and quotes nothing of the URL, which may contain a password. */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  const [, start, authority, rest] = PARTS.exec(url) ?? [];
  if (start === undefined || authority === undefined || rest === undefined) {
    throw new Error('is not a postgres or postgresql URL');
  }
  const given = authority.split(',');
  const first = `${start}${given[0] ?? ''}${rest}`;
  if (!URL.canParse(first)) throw new Error('is not a postgres or postgresql URL');
  const { searchParams } = new URL(first);
  if (given.length > 1 && searchParams.has('host')) {
    throw new Error('names hosts twice: before the database and as host=');
  }
  return {
    hosts: given.map(readHost),
    url: first,
    requiresWritableSessions: readSessionAttributes(searchParams.get('target_session_attrs') ?? 'any'),
  };
}

function readHost(text: string): DatabaseHost {
  const [, host, port] = HOST.exec(text) ?? [];
  if (host === undefined) throw new Error('has a host that is not host or host:port');
  return {
    host: host.replace(/^\[|\]$/g, ''),
    port: port === undefined ? DEFAULT_PORT : Number(port),
  };
}

/** All connections write, so `any` means the primary. */
function readSessionAttributes(value: string): boolean {
  if (value === 'read-write') return true;
  if (value === 'any' || value === 'primary') return false;
  throw new Error('needs a server that accepts writes: target_session_attrs is read-write or primary');
}
