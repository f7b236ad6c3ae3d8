import { setTimeout as delay } from 'node:timers/promises';
import { UsageError } from '../errors.js';
import type { Logger } from '../observability/log.js';
import { exitOnSignal } from './shutdown.js';

/** What a process depends on, as `/readyz` names it. */
export type Dependency = 'postgres' | 'queue';

/** A dependency is not available yet, for a reason that may resolve itself. Without patience, the error is final. */
export class NotReadyError extends UsageError {
  constructor(
    message: string,
    readonly dependency: Dependency,
    /** Maximum wait that makes sense for this reason. */
    readonly maxWaitMs = Infinity,
  ) {
    super(message);
    this.name = 'NotReadyError';
  }
}

/** Runs the startup steps that need a dependency. */
export interface Startup {
  /** Retries the step with backoff while it throws NotReadyError, which is eventually rethrown. Other errors are rethrown immediately. */
  step<T>(attempt: () => Promise<T>): Promise<T>;
}

interface StartupOptions {
  /** Maximum total wait. */
  readonly patienceMs: number;
  readonly log: Logger;
  /** Serves probes while the process waits. @returns a function that stops that */
  readonly announce: (dependency: Dependency) => Promise<() => Promise<void>>;
}

const BACKOFF_MS = { first: 100, max: 2_000 } as const;
/** A name may become resolvable when its container starts; a wrong one never does. */
const NAME_MAX_WAIT_MS = 60_000;

export function createStartup({ patienceMs, log, announce }: StartupOptions): Startup {
  const startedAtMs = performance.now();
  return {
    async step(attempt) {
      let waiting: { readonly dependency: Dependency; readonly end: () => Promise<void> } | undefined;
      let pauseMs: number = BACKOFF_MS.first;
      try {
        for (;;) {
          try {
            const result = await attempt();
            if (waiting)
              log.info(
                { seconds: secondsSince(startedAtMs) },
                `${waiting.dependency} is available: starting`,
              );
            return result;
          } catch (error) {
            if (!(error instanceof NotReadyError)) throw error;
            const { dependency, message, maxWaitMs } = error;
            if (performance.now() - startedAtMs >= Math.min(patienceMs, maxWaitMs)) throw error;
            if (!waiting) {
              waiting = { dependency, end: await wait(announce, dependency) };
              log.warn({ dependency, cause: message }, `waiting for ${dependency}`);
            }
          }
          await delay(pauseMs);
          pauseMs = Math.min(pauseMs * 2, BACKOFF_MS.max);
        }
      } finally {
        await waiting?.end();
      }
    },
  };
}

async function wait(
  announce: StartupOptions['announce'],
  dependency: Dependency,
): Promise<() => Promise<void>> {
  const stopListening = exitOnSignal();
  const end = await announce(dependency);
  return async () => {
    stopListening();
    await end();
  };
}

function secondsSince(atMs: number): number {
  return Math.round((performance.now() - atMs) / 1000);
}

/** Codes of connections that could not be made or broke, as Node.js gives them. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EPIPE',
  'ETIMEDOUT',
]);

/** How long waiting may help after a failed connection; undefined if it doesn't. */
export function networkWaitMs(code: string): number | undefined {
  if (NETWORK_CODES.has(code)) return Infinity;
  return code === 'ENOTFOUND' || code === 'EAI_AGAIN' ? NAME_MAX_WAIT_MS : undefined;
}
