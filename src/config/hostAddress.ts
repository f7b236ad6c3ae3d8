/** Where a server listens. */
export interface HostAddress {
  /** An IPv6 address without its brackets. */
  readonly host: string;
  readonly port: number;
}

const MAX_PORT = 65_535;
const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]\s]*)(?::(\d{1,5}))?$/i;

/** Reads `host` or `host:port`, where the host may be empty. Throws an Error whose message follows a variable's name and quotes nothing. */
export function readHost(text: string, defaultPort: number): HostAddress {
  const [, host, port = String(defaultPort)] = HOST.exec(text) ?? [];
  if (host === undefined || Number(port) > MAX_PORT || Number(port) === 0) {
    throw new Error('has a host that is not host or host:port');
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
