import type { Duplex } from 'node:stream';
import pg from 'pg';
import type { HostAddress } from '../../config/hostAddress.js';

/** What Rowpost uses of pg's connections beyond pg's types, except for `Pipeline`. */
interface PgInternals {
  host: string;
  port: number;
  readonly connectionParameters: ConnectionParameters;
  readonly connection: PgConnection;
  readonly processID: number;
  readonly secretKey: number;
  /** The first of those that were sent and got no response. */
  readonly _activeQuery?: object | null;
  /** Clients of a pool have it too. */
  end(): Promise<void>;
}

type ConnectionParameters = Pick<
  pg.ClientConfig,
  'host' | 'port' | 'user' | 'password' | 'database' | 'ssl'
> & {
  readonly sslnegotiation?: string;
};

export interface PgConnection {
  readonly stream: Duplex;
  /** Called when the stream is open. */
  startup: () => void;
  cancel(processID: number, secretKey: number): void;
  on(event: 'errorMessage', listener: (error: { readonly code?: string }) => void): unknown;
  on(
    event: 'parameterStatus',
    listener: (message: { readonly parameterName: string; readonly parameterValue: string }) => void,
  ): unknown;
  emit(event: 'error', error: Error): unknown;
}

/** The session behind a connection. */
interface Backend extends HostAddress {
  /** The session's, or what a pooler sends instead. */
  readonly processID: number;
}

export function internalsOf(client: pg.ClientBase): PgInternals {
  return client as unknown as PgInternals;
}

export function backendOf(client: pg.ClientBase): Backend {
  return internalsOf(client);
}

/** The statement that PostgreSQL has not responded to yet, the first if there are several; compare by identity. */
export function pendingStatement(client: pg.ClientBase): object | undefined {
  return internalsOf(client)._activeQuery ?? undefined;
}

/** Breaks the connection at once; what it runs is rejected. */
export function breakConnection(client: pg.ClientBase): void {
  internalsOf(client).connection.stream.destroy();
}

/** Closes a connection of a pool, which then does not keep it. */
export function endPooled(client: pg.ClientBase): void {
  void internalsOf(client).end();
}

/** Where a connection that is not open yet will lead. */
export function setHost(client: pg.ClientBase, { host, port }: HostAddress): void {
  Object.assign(internalsOf(client), { host, port });
}

/** Calls `listener` with each setting that PostgreSQL reports, first while the connection opens. */
export function onParameter(client: pg.ClientBase, listener: (name: string, value: string) => void): void {
  internalsOf(client).connection.on('parameterStatus', ({ parameterName, parameterValue }) =>
    listener(parameterName, parameterValue),
  );
}

/** Calls `listener` with the code of each error that PostgreSQL reports. */
export function onErrorCode(client: pg.ClientBase, listener: (code: string | undefined) => void): void {
  internalsOf(client).connection.on('errorMessage', ({ code }) => listener(code));
}

/** Opens `canceler`, a client for the same server, to cancel what `other` runs. PostgreSQL acknowledges nothing. */
export async function sendCancelRequest(canceler: pg.Client, other: pg.ClientBase): Promise<void> {
  const { processID, secretKey } = internalsOf(other);
  const { connection } = internalsOf(canceler);
  // Sent in place of the startup message, within TLS if used. The server then closes the connection.
  connection.startup = () => connection.cancel(processID, secretKey);
  await canceler.connect().catch(() => undefined);
}

/** Parses the URL as pg does. In pg, a URL would override a user, password or host given next to it. */
export function readUrl(url: string): pg.ClientConfig {
  const { connectionParameters } = internalsOf(new pg.Client({ connectionString: url }));
  const { host, port, user, password, database, ssl, sslnegotiation } = connectionParameters;
  const parts = { host, port, user, password, database, ssl, sslnegotiation };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value != null));
}
