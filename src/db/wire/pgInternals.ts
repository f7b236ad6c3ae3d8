import type { Duplex } from 'node:stream';
import type pg from 'pg';
import type { DatabaseHost } from '../../config/databaseUrl.js';

/** What Rowpost uses of pg's connections beyond pg's types. `Pipeline` and `readUrl` use what has no connection. */
interface PgInternals extends DatabaseHost {
  /** The backend's, or what a pooler sends instead. */
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: PgConnection;
  /** The first of those that were sent and not answered. */
  readonly _activeQuery?: object | null;
  /** Clients of a pool have it too. */
  end(): Promise<void>;
}

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

export function internalsOf(client: pg.ClientBase): PgInternals {
  return client as unknown as PgInternals;
}
