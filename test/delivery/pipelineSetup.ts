import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Database } from '../../src/db/pool/database.js';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { createTestTenant } from '../support/createTestTenant.js';
import type { DeliveryLimits } from '../../src/db/ledger/closeBatch.js';
import { storeAccounts } from '../../src/db/email/emailAccounts.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { systemClock } from '../../src/foundation/clock.js';
import { startRelay } from '../../src/relay/relay.js';
import { migrateQueue, openQueue } from '../../src/queue/openQueue.js';
import type { Queue } from '../../src/queue/queue.js';
import { KeyRing } from '../../src/config/secrets.js';
import { stopAll, type Stoppable } from '../../src/foundation/lifecycle/shutdown.js';
import { startWorker, type WorkerDeps } from '../../src/worker/worker.js';
import type { Config } from '../../src/config/config.js';
import { compiledProgram } from '../support/compiledProgram.js';
import { TEST_SECRET_KEYS, testConfig, testEnv, testLog } from '../support/testConfig.js';
import { noteLines } from '../support/recentLines.js';
import { createTestRedis } from '../support/testRedis.js';
import { knexOf } from '../support/knexOf.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

export type Backend = 'redis' | 'postgres';
const { TEST_QUEUE } = process.env;
/** For suites about the queue; without Redis on this machine, the one in PostgreSQL. */
export const BACKENDS: readonly Backend[] = TEST_QUEUE === 'postgres' ? ['postgres'] : ['redis', 'postgres'];
/** For suites that are the same with either queue. The slow lane runs them with the other one. */
export const QUEUE: Backend = TEST_QUEUE === 'postgres' ? 'postgres' : 'redis';

export const keyRing = KeyRing.parse(TEST_SECRET_KEYS);

/** Short times, so that recovery can be watched. */
export async function pipelineEnv(
  backend: Backend,
  overrides: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, string>>> {
  return testEnv({
    DATABASE_URL: 'postgres://unused',
    ...(backend === 'redis' ? { REDIS_URL: overrides['REDIS_URL'] ?? (await createTestRedis()) } : {}),
    MAIL_TRANSPORT: 'sendgrid',
    RECONCILE_MS: '300',
    RELAY_POLL_MS: '20',
    LEASE_MS: '1500',
    SEND_DEADLINE_MS: '800',
    BACKOFF_BASE_MS: '50',
    BACKOFF_CAP_MS: '500',
    SHUTDOWN_GRACE_MS: '3000',
    ...overrides,
  });
}

export async function pipelineConfig(
  backend: Backend,
  overrides: Readonly<Record<string, string>> = {},
): Promise<Config> {
  return testConfig(await pipelineEnv(backend, overrides));
}

/** Starts a worker in a process of its own, which the test may stop and kill. */
export async function forkWorker(env: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const child = fork(await compiledProgram(new URL('./workerProcess.ts', import.meta.url)), {
    execArgv: [],
    silent: true,
    env: { PATH: process.env['PATH'], TEST_LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'info', ...env },
  });
  for (const output of [child.stdout, child.stderr])
    output?.on('data', (part: Buffer) => noteLines(`worker ${child.pid}`, part.toString()));
  // One that kills itself may be gone before a busy machine tells us that it was ready.
  await Promise.race([once(child, 'message'), once(child, 'exit')]);
  return child;
}

/** Nothing holds email back. */
export const NO_LIMITS: DeliveryLimits = { firesPerMinute: 0, emailsPerSecond: 0 };

/** A tenant with a schema name, a key and a role, as the control tables hold them. */
export interface TestTenant {
  readonly tenantid: number;
  readonly roleid: number;
  readonly apiKey: string;
}

export async function createTenant(database: Database): Promise<TestTenant> {
  const name = `t${randomBytes(6).toString('hex')}`;
  const [tenant] = await knexOf(database)<{ tenantid: number }>('rowpost.tenant')
    .insert({ name, schema: name } as never)
    .returning('tenantid');
  const tenantid = tenant!.tenantid;
  const [role] = await knexOf(database)<{ roleid: number }>('rowpost.role')
    .insert({ tenantid, login: 'root', capabilities: ['admin'] } as never)
    .returning('roleid');
  const apiKey = `SG.${name}`;
  await knexOf(database)('rowpost.email_apikey').insert({
    tenantid,
    apikey_encrypted: keyRing.encrypt(apiKey, `email_apikey:${tenantid}`),
  });
  return { tenantid, roleid: role!.roleid, apiKey };
}

/** A tenant as an installation makes it, with tables of its own, and an account at SendGrid. */
export async function createTenantWithTables(database: Database, tables: string): Promise<CreatedTenant> {
  const tenant = await createTestTenant(database.pool, {
    name: `t${randomBytes(6).toString('hex')}`,
    rootLogin: 'root',
    rootPassword: 'correct horse',
  });
  const { tenantid, rootRoleid } = tenant;
  await runTenantSql(database, { tenantid, sql: tables });
  await inTransaction(database.pool, (tx) =>
    storeAccounts(tx, keyRing, {
      tenantid,
      apikey: 'SG.key',
      setBy: rootRoleid,
      emailsPerSecond: 0,
    }),
  );
  return tenant;
}

export interface RuleOptions {
  readonly emailType?: string;
  readonly template?: string;
  readonly subject?: string;
  readonly recipients?: unknown;
  readonly sender?: string;
  readonly queries?: unknown;
  readonly options?: unknown;
  readonly operations?: readonly string[];
  readonly targets?: readonly string[];
  readonly condition?: string | null;
  readonly delivery?: 'at_least_once' | 'at_most_once';
}

/** An email type and a rule that sends it. @returns the rule's id */
export async function createRule(
  database: Database,
  tenant: TestTenant,
  options: RuleOptions = {},
): Promise<string> {
  const emailType = options.emailType ?? 'welcome';
  await knexOf(database)('rowpost.email_types')
    .insert({
      tenantid: tenant.tenantid,
      email_type: emailType,
      template: options.template ?? 'hello',
      subject: options.subject ?? 'Welcome',
      recipients: JSON.stringify(options.recipients ?? ['ada@example.com']),
      sender: options.sender ?? 'Shop <shop@example.com>',
      queries: JSON.stringify(options.queries ?? []),
      options: JSON.stringify(options.options ?? {}),
    })
    .onConflict(['tenantid', 'email_type'])
    .ignore();
  const [rule] = await knexOf(database)<{ ruleid: string }>('rowpost.email_rule')
    .insert({
      tenantid: tenant.tenantid,
      name: randomBytes(6).toString('hex'),
      operations: options.operations ?? ['insert'],
      targets: options.targets ?? ['customer'],
      email_type: emailType,
      query_roleid: tenant.roleid,
      condition: options.condition ?? null,
      delivery: options.delivery ?? 'at_least_once',
    } as never)
    .returning('ruleid');
  return rule!.ruleid;
}

/** Writes events as a tenant's committed transaction would have. */
export async function writeEvents(
  database: Database,
  tenant: TestTenant,
  count: number,
  event: { readonly operation?: string; readonly target?: string; readonly new?: unknown } = {},
): Promise<void> {
  await database.pool.query(
    `insert into rowpost.outbox (tenantid, roleid, operation, target, key, new)
      select $1, $2, $3, $4, json_build_object('id', i), coalesce($6::json, json_build_object('id', i))
      from generate_series(1, $5::int) i`,
    [
      tenant.tenantid,
      tenant.roleid,
      event.operation ?? 'insert',
      event.target ?? 'customer',
      count,
      event.new === undefined ? null : JSON.stringify(event.new),
    ],
  );
}

/** Engine and renderer for rules that need neither: any use but of the catalog, which is empty, is a failure of the test. */
export const noEngine: WorkerDeps['engine'] = {
  catalog: () => Promise.resolve({ version: '', schema: '', tables: new Map(), problems: [] }),
  runEmailQuery: () => Promise.reject(new Error('no query expected')),
  readsWith: () => Promise.resolve(undefined),
  findFiles: () => Promise.reject(new Error('no attachment expected')),
  fileLink: () => '',
  evaluateCondition: () => Promise.reject(new Error('no condition expected')),
};
/** Texts without templates come out as they are. */
export const plainRenderer: WorkerDeps['templates'] = {
  render: ({ templates }) => Promise.resolve(templates.map(({ source }) => ({ ok: true, output: source }))),
};

export interface Pipeline {
  readonly queue: Queue;
  stop(): Promise<void>;
}

/** Relay and worker in this process, each with a queue of its own, as processes apart would have. */
export async function startPipeline(
  database: Database,
  config: Config,
  parts: { readonly relays?: number; readonly workers?: number } & Partial<WorkerDeps> = {},
): Promise<Pipeline> {
  await migrateQueue(config, database);
  const { relays = 1, workers = 1, ...overrides } = parts;
  const started: Stoppable[] = [];
  const queues: Queue[] = [];
  const open = async (): Promise<Queue> => {
    const queue = await openQueue(config, database, testLog);
    queues.push(queue);
    return queue;
  };
  const base = { database, config, log: testLog, clock: systemClock };
  for (let i = 0; i < relays; i++) started.push(startRelay({ ...base, queue: await open() }));
  for (let i = 0; i < workers; i++) {
    started.push(
      startWorker({
        ...base,
        keyRing,
        principals: new PrincipalSource(database.pool),
        engine: noEngine,
        templates: plainRenderer,
        ...overrides,
        queue: await open(),
      }),
    );
  }
  const queue = await open();
  return {
    queue,
    async stop() {
      await stopAll(started);
      for (const each of queues) await each.close();
    },
  };
}

/** How many deliveries of a tenant are in each state. */
export async function countStates(database: Database, tenantid: number): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ state: string; count: number }>(
    'select state, count(*)::int as count from rowpost.email_delivery where tenantid = $1 group by state',
    [tenantid],
  );
  return Object.fromEntries(rows.map((row) => [row.state, row.count]));
}
