import { MAX_DAYS, setting } from './setting.js';
import { integer, text } from '../settingValues.js';

export const DELIVERY = {
  workerConcurrency: setting(
    'WORKER_CONCURRENCY',
    integer(1, 1000),
    64,
    'Maximum deliveries in flight in one worker process.',
  ),
  renderProcesses: setting(
    'RENDER_PROCESSES',
    integer(1, 64),
    2,
    'Processes that render templates, of each web process and worker.',
  ),
  relayBatch: setting('RELAY_BATCH', integer(1, 5_000), 100, 'Maximum events in one batch.'),
  maxAttempts: setting('MAX_ATTEMPTS', integer(1, 1000), 12, 'Attempts before a delivery is `failed`.'),
  backoffCapMs: setting('BACKOFF_CAP_MS', integer(100), 3_600_000, 'Maximum retry backoff.'),
  leaseMs: setting(
    'LEASE_MS',
    integer(500),
    6_000,
    'Duration of the lease of a worker on a delivery. Workers renew their leases; one that dies loses them after this time.',
  ),
  tenantEmailsPerSecond: setting(
    'TENANT_EMAILS_PER_SECOND',
    integer(0, 100_000),
    0,
    'Rate limit for the emails of each tenant, per second; further ones are delayed, without affecting other tenants. 0 for no limit.',
  ),
  queuePrefix: setting('QUEUE_PREFIX', text, 'rowpost', "Prefix of the queue's keys in Redis."),
  graceMs: setting('SHUTDOWN_GRACE_MS', integer(100), 25_000, 'Time to finish work in flight after SIGTERM.'),
  shutdownDelayMs: setting(
    'SHUTDOWN_DELAY_MS',
    integer(0),
    0,
    'How long a web process still accepts requests after SIGTERM while `/readyz` responds with 503, so that load balancers stop sending requests first. Part of `SHUTDOWN_GRACE_MS`.',
  ),
  retentionDays: setting(
    'RETENTION_DAYS',
    integer(1, MAX_DAYS),
    30,
    "Retention of events, and of deliveries with their attempts and carriers' reports, in days.",
  ),
  keepEmailDays: setting(
    'KEEP_EMAIL_DAYS',
    integer(0, MAX_DAYS),
    0,
    'Retention of sent emails, encrypted, in days: at most `RETENTION_DAYS`. 0 keeps none; `rowpost demo` keeps them for 7.',
  ),
} as const;
