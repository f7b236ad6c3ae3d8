import type { Registry } from 'prom-client';
import type { Database } from '../db/pool/database.js';
import { readKeyStates } from '../db/email/emailAccounts.js';
import { readServerFacts } from '../db/failover/reachability.js';
import { countLostTenants } from '../db/tenants/lostRoles.js';
import type { Logger } from '../foundation/observability/log.js';
import { cachedReading } from './cachedReading.js';
import { gaugesOf } from './gaugesOf.js';

const CACHE_MS = 5_000;

/** Conditions that prevent email although PostgreSQL responds. No values during an outage. */
export function registerPostgresMetrics(
  registry: Registry,
  { pool }: Pick<Database, 'pool'>,
  log: Logger,
): void {
  const read = cachedReading(
    async () => ({
      ...(await readServerFacts(pool)),
      lostTenants: await countLostTenants(pool),
      accounts: await readKeyStates(pool),
    }),
    { cacheMs: CACHE_MS, what: 'the state of PostgreSQL', log },
  );
  const gauge = gaugesOf(registry, read);
  gauge('rowpost_postgres_read_only', '1 where PostgreSQL accepts no writes.', ({ readOnly }) =>
    readOnly ? 1 : 0,
  );
  gauge(
    'rowpost_postgres_clock_difference_seconds',
    "How far PostgreSQL's clock is ahead of this process's.",
    ({ clockDifferenceMs }) => clockDifferenceMs / 1000,
  );
  gauge(
    'rowpost_tenants_lost',
    'Tenants whose role or schema in PostgreSQL is missing or has another owner: their requests and emails fail.',
    ({ lostTenants }) => lostTenants,
  );
  gauge(
    'rowpost_accounts',
    'Tenants that have an account with a carrier.',
    ({ accounts }) => accounts.tenants,
  );
  gauge(
    'rowpost_accounts_refused',
    'Those whose account the carrier refuses: their email waits for a working key or credit.',
    ({ accounts }) => accounts.paused.length,
  );
}
