import { Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import { overdueIn, type Overdue } from '../db/ledger/backlogAlarm.js';
import { readBacklog } from '../db/outbox/backlog.js';
import type { Database } from '../db/pool/database.js';
import type { Logger } from '../foundation/observability/log.js';
import { collectProcessMetrics, processRegistry } from '../foundation/observability/metrics.js';
import { withTimeout } from '../foundation/withTimeout.js';
import { registerBacklogMetrics } from './backlogMetrics.js';
import { cachedReading } from './cachedReading.js';
import { registerPoolMetrics } from './poolMetrics.js';
import { registerPostgresMetrics } from './postgresMetrics.js';

/** By name as shown by /readyz: `postgres`, `queue`. A check resolves if the dependency is healthy, and rejects otherwise. */
export type HealthChecks = Readonly<Record<string, () => Promise<unknown>>>;

export interface ProbeDeps {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly checks: HealthChecks;
}

export interface ProbeResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `/livez`, `/readyz` and `/metrics`. */
export interface Probes {
  readonly live: () => ProbeResponse;
  readonly ready: () => Promise<ProbeResponse>;
  readonly metrics: () => Promise<ProbeResponse>;
}

const BACKLOG_CACHE_MS = 5_000;
const CHECK_TIMEOUT_MS = 2_000;

export const LIVE = json(200, '{"status":"ok"}');

/**
 * What a process tells monitoring: that it responds; whether it can do its work, otherwise the names of what is down; its metrics.
 * An overdue backlog makes relays and workers not ready, but not web processes: if a load balancer removed all of them because the
 * workers are gone, it would also stop mutations, which don't need workers to commit.
 * @param process as `/readyz` names it while it stops
 * @param registry further metrics, to which those of the installation are added
 */
export function createProbes(
  { database, config: { backlogAlarmSeconds }, log, checks }: ProbeDeps,
  process: 'web' | 'relay' | 'worker',
  registry: Registry,
  isStopping: () => boolean,
): Probes {
  collectProcessMetrics();
  const backlog = cachedReading(() => readBacklog(database.ledger), {
    // The cache must not delay a short alarm.
    cacheMs:
      backlogAlarmSeconds === 0 ? BACKLOG_CACHE_MS : Math.min(BACKLOG_CACHE_MS, backlogAlarmSeconds * 250),
    what: 'the backlog',
    log,
  });
  registerBacklogMetrics(registry, backlog);
  registerPoolMetrics(registry, database);
  registerPostgresMetrics(registry, database, log);

  /** Empty while the backlog can't be read, which `postgres` reports. */
  const findOverdue = async (): Promise<readonly Overdue[]> => {
    const read = backlogAlarmSeconds === 0 ? undefined : await backlog();
    return read ? overdueIn(read, backlogAlarmSeconds) : [];
  };
  return {
    live: () => LIVE,
    async ready() {
      if (isStopping()) return unavailable([process]);
      const [down, overdue] = await Promise.all([findDown(checks), findOverdue()]);
      const isReady = down.length === 0 && (process === 'web' || overdue.length === 0);
      return isReady ? json(200, readinessBody('ok', [], overdue)) : unavailable(down, overdue);
    },
    metrics: async () => ({
      status: 200,
      type: registry.contentType,
      body: await Registry.merge([processRegistry, registry]).metrics(),
    }),
  };
}

/** @returns the names of the checks that fail or time out */
async function findDown(checks: HealthChecks): Promise<readonly string[]> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const works = check().then(
        () => true,
        () => false,
      );
      return (await withTimeout(works, CHECK_TIMEOUT_MS, () => false)) ? [] : [name];
    }),
  );
  return results.flat();
}

/** `/readyz` of a process that can't do its work. */
export function unavailable(down: readonly string[], overdue: readonly Overdue[] = []): ProbeResponse {
  return json(503, readinessBody('unavailable', down, overdue));
}

function readinessBody(status: string, down: readonly string[], overdue: readonly Overdue[]): string {
  const waiting = overdue.map((one) => ({ ...one, oldestSeconds: Math.round(one.oldestSeconds) }));
  return JSON.stringify({ status, down, ...(waiting.length > 0 ? { overdue: waiting } : {}) });
}

function json(status: number, body: string): ProbeResponse {
  return { status, type: 'application/json; charset=utf-8', body };
}
