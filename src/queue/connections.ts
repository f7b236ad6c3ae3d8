import type { BackendFactory, IQueueBackend } from 'bullmq';

/** How BullMQ reaches its store: the two backends differ in nothing else. */
export interface QueueConnections {
  /** For adding jobs: fails at once while the store is away. */
  readonly producer: object;
  /** For taking jobs: waits until the store is back. */
  readonly consumer: object;
  readonly prefix: string;
  /** Undefined for BullMQ's own default, Redis. */
  readonly backend: BackendFactory<IQueueBackend, object> | undefined;
  check(): Promise<void>;
  close(): Promise<void>;
}
