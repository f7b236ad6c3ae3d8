import type { BackendFactory, IQueueBackend } from 'bullmq';

/** BullMQ's connections to its store: all that differs between the two backends. */
export interface QueueConnections {
  /** For adding jobs: fails fast while the store is unavailable. */
  readonly producer: object;
  /** For consuming jobs: waits until the store is back. */
  readonly consumer: object;
  readonly prefix: string;
  /** Undefined for BullMQ's default, Redis. */
  readonly backend: BackendFactory<IQueueBackend, object> | undefined;
  check(): Promise<void>;
  close(): Promise<void>;
}
