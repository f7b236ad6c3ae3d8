import { expect } from 'chai';
import { storeAccounts } from '../../src/db/email/emailAccounts.js';
import { closePlainBatch } from '../../src/db/ledger/closeBatch.js';
import type { KnownDelivery } from '../../src/db/ledger/deliveryKey.js';
import { resumeTenant } from '../../src/db/ledger/pause.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';
import { systemClock } from '../../src/foundation/clock.js';
import type { Queue } from '../../src/queue/queue.js';
import { deliver } from '../../src/worker/deliver.js';
import { createDeliverDeps, type DeliverDeps } from '../../src/worker/deliverDeps.js';
import { startFakeApi, type FakeApi } from '../support/fakeApi.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { Faults, type Call, type Fault } from './faultyDeps.js';
import {
  createRule,
  createTenant,
  keyRing,
  NO_LIMITS,
  noEngine,
  pipelineConfig,
  plainRenderer,
  writeEvents,
} from './pipelineSetup.js';
import { knexOf } from '../support/knexOf.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** What an attempt meets. */
export interface Scenario {
  readonly status: number;
  readonly body?: unknown;
  readonly delivery?: 'at_least_once' | 'at_most_once';
  /** An earlier worker died with the same job. */
  readonly redelivered?: boolean;
  /** An attempt has failed before. */
  readonly second?: boolean;
  /** The row is loaded only when it is its turn. */
  readonly large?: boolean;
}

const ACCEPTED = { status: 200, body: { ErrorCode: 0, Message: 'OK', MessageID: '1' } };
const INACTIVE = 'Message OK, but will not deliver to these inactive addresses: bob@example.com';

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  accepted: ACCEPTED,
  'accepted, at most once': { ...ACCEPTED, delivery: 'at_most_once' },
  'accepted at the second attempt': { ...ACCEPTED, second: true },
  'accepted after a worker has died': { ...ACCEPTED, redelivered: true },
  'a large row': { ...ACCEPTED, large: true },
  'a refused recipient': { ...ACCEPTED, body: { ...ACCEPTED.body, Message: INACTIVE } },
  rejected: { status: 422, body: { ErrorCode: 300, Message: 'invalid' } },
  'rate limited': { status: 429 },
  'a refused account': { status: 401 },
  'a server error': { status: 500 },
};

interface LedgerRow {
  readonly state: string;
  readonly attempts: number;
  readonly starts: number;
  readonly error_code: string | null;
  readonly lost: number;
  readonly outcomes: readonly string[];
}

/** Attempts of one worker whose every collaborator can fail, against a carrier that counts what it accepts. */
export class AttemptFaults {
  readonly faults = new Faults();
  #accepted = 0;

  private constructor(
    private readonly db: TestDatabase,
    private readonly api: FakeApi,
    private readonly deps: DeliverDeps,
    faults: Faults,
  ) {
    this.faults = faults;
  }

  static async open(): Promise<AttemptFaults> {
    const db = await createTestDatabase();
    const api = await startFakeApi();
    const overrides = { POSTMARK_BASE_URL: api.url, MAX_ATTEMPTS: '4', LEASE_MS: '60000' };
    const config = await pipelineConfig('postgres', overrides);
    const { database } = db;
    const faults = new Faults();
    const engine: typeof noEngine = {
      ...noEngine,
      runEmailQuery: () => Promise.resolve({ rows: '[]', files: [] } as never),
    };
    const deps = createDeliverDeps({
      database: { ...database, ledger: faults.wrap('ledger', database.ledger) },
      config,
      log: testLog,
      clock: systemClock,
      keyRing: faults.wrap('keyRing', keyRing),
      principals: faults.wrap('principals', new PrincipalSource(database.pool)),
      engine: faults.wrap('engine', engine),
      templates: faults.wrap('templates', plainRenderer),
      queue: faults.wrap('queue', { addDeliveries: () => Promise.resolve() } as unknown as Queue),
    });
    const wrapped = {
      ...deps,
      carriers: faults.wrap('carriers', deps.carriers),
      claimed: faults.wrap('claimed', deps.claimed),
      slots: faults.wrap('slots', deps.slots),
      records: faults.wrap('records', deps.records),
      holds: faults.wrap('holds', deps.holds),
      report: faults.wrap('report', deps.report),
    };
    return new AttemptFaults(db, api, wrapped, faults);
  }

  async close(): Promise<void> {
    this.faults.begin();
    await this.deps.claimed.stop();
    await this.deps.carriers.close();
    await this.api.stop();
    await this.db.drop();
  }

  /** The calls of an attempt without a fault. */
  async callsOf(scenario: Scenario): Promise<readonly Call[]> {
    const job = await this.#makeDelivery(scenario);
    await this.#attempt(scenario, job);
    return this.faults.calls;
  }

  /** One attempt with a fault, and what must hold of it. */
  async check(scenario: Scenario, fault: Fault): Promise<void> {
    const job = await this.#makeDelivery(scenario);
    this.#accepted = 0;
    const before = this.api.calls.length;
    await this.#attempt(scenario, job, fault);
    const called = this.api.calls.length - before;
    const after = await this.#read(job);
    expect(after.error_code).to.not.be.oneOf(['WORKER_LOST', 'OUTCOME_UNKNOWN', 'POISON']);
    // The worker that has died before is counted.
    expect(after.lost, 'lost workers').to.be.at.most(scenario.redelivered ? 1 : 0);
    expect(after.state, 'left to the lease').to.not.equal('sending');
    if (called === 0) {
      expect(after.outcomes, 'certainly not sent').to.not.include('ambiguous');
      expect(after.state).to.be.oneOf(['pending', 'retrying']);
    } else if (this.#accepted > 0 && after.state !== 'sent') {
      expect(after.outcomes.at(-1), 'may have been sent').to.equal('ambiguous');
      expect(after.state).to.equal(scenario.delivery === 'at_most_once' ? 'unknown' : 'retrying');
    }
    const end = await this.#finish(job);
    const hasEnded = after.state === 'unknown' || after.state === 'failed';
    expect(end.state).to.equal(hasEnded ? after.state : 'sent');
    const ambiguous = end.outcomes.filter((outcome) => outcome === 'ambiguous').length;
    expect(this.#accepted, 'emails sent').to.be.within(end.state === 'sent' ? 1 : 0, 1 + ambiguous);
  }

  /** All attempts with the same fault. */
  async exhaust(
    scenario: Scenario,
    fault: Fault,
  ): Promise<Pick<LedgerRow, 'state' | 'error_code' | 'outcomes'>> {
    const job = await this.#makeDelivery(scenario);
    for (let starts = 0; starts < 4; starts++) await this.#attempt(scenario, { ...job, starts }, fault);
    const { state, error_code, outcomes } = await this.#read(job);
    return { state, error_code, outcomes };
  }

  async #attempt(scenario: Scenario, job: KnownDelivery, fault?: Fault): Promise<void> {
    this.api.reply = () => {
      if (scenario.status === 200) this.#accepted += 1;
      return scenario;
    };
    this.faults.begin(fault);
    // A job that fails is queued again.
    await deliver(this.deps, job, scenario.redelivered === true).catch(() => undefined);
  }

  /** Until it has ended, without faults, and with a carrier that accepts everything. */
  async #finish(job: KnownDelivery): Promise<LedgerRow> {
    await inTransaction(this.db.database.pool, (tx) => resumeTenant(tx, job.tenantid, 0));
    for (let tries = 0; tries < 5; tries++) {
      const row = await this.#read(job);
      if (!['pending', 'retrying'].includes(row.state)) return row;
      await this.#attempt(ACCEPTED, { ...job, starts: row.starts });
    }
    return this.#read(job);
  }

  /** A delivery before the attempt in question. */
  async #makeDelivery(scenario: Scenario): Promise<KnownDelivery> {
    const { database } = this.db;
    this.faults.begin();
    const tenant = await createTenant(database);
    const { tenantid } = tenant;
    const transports = JSON.stringify([{ kind: 'postmark', apikey: 'key' }]);
    await inTransaction(database.pool, (tx) =>
      storeAccounts(tx, keyRing, {
        tenantid,
        transports,
        setBy: tenant.roleid,
        emailsPerSecond: 0,
      }),
    );
    await createRule(database, tenant, {
      recipients: ['ada@example.com', 'bob@example.com'],
      queries: [{ query: '{ customer { id } }', outvar: 'customers' }],
      ...(scenario.delivery ? { delivery: scenario.delivery } : {}),
    });
    // Without one, the list isn't searched.
    const suppressed = { tenantid, address: 'carl@example.com', source: 'manual' };
    await knexOf(database)('rowpost.email_suppression').insert(suppressed);
    const note = 'x'.repeat(scenario.large ? 100_000 : 1);
    await writeEvents(database, tenant, 1, { new: { id: 1, note } });
    const { batches } = await pollOutbox(database.ledger, { batchEvents: 100, pollEvents: 1000 });
    const batch = batches.find((each) => each.tenantid === tenantid)!;
    const { ready } = (await closePlainBatch(database.ledger, batch, NO_LIMITS))!;
    const { deliveryid, createtime } = ready[0]!;
    const job = { tenantid, deliveryid, createtime, starts: 0 };
    if (!scenario.second) return job;
    await this.#attempt({ status: 408 }, job);
    return { ...job, starts: 1 };
  }

  async #read({ tenantid, deliveryid }: KnownDelivery): Promise<LedgerRow> {
    const { rows } = await this.db.database.pool.query<LedgerRow>(
      `select v.state, v.attempts, v.starts, v.error_code, d.lost, array(
          select outcome from rowpost.email_attempt a
          where a.tenantid = d.tenantid and a.deliveryid = d.deliveryid order by attempt) as outcomes
        from rowpost.delivery d join rowpost.email_delivery v using (tenantid, deliveryid)
        where d.tenantid = $1 and d.deliveryid = $2`,
      [tenantid, deliveryid],
    );
    return rows[0]!;
  }
}
