import { expect } from 'chai';
import { openBatches } from '../../src/db/outbox/batches.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { TenantLimiter } from '../../src/foundation/limits/tenantLimiter.js';
import { evaluateRules } from '../../src/worker/evaluateBatch.js';
import { FailedEvaluations } from '../../src/worker/failedEvaluations.js';
import {
  countStates,
  createRule,
  createTenant,
  NO_LIMITS,
  noEngine,
  pipelineConfig,
  QUEUE,
  startPipeline,
  writeEvents,
  type Pipeline,
} from '../delivery/pipelineSetup.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';

/** One of each class that says that the statement, and not the server, is at fault. */
const CODES = ['21000', '22021', '23514', '42804', '44000', '54000', 'P0001'];

/**
 * An outcome that PostgreSQL refuses for what it says had its delivery attempted again and again: what was sent was sent five times,
 * and what was not, without end.
 */
describe('attack: outcomes that PostgreSQL refuses', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  before(async () => {
    db = await createTestDatabase();
    await db.database.pool.query(`
      create function public.refuse_texts() returns trigger language plpgsql as $$
      declare code text = substring(to_json(new)::text from '"refuse (.....)');
      begin
        if code is not null then raise exception using errcode = code; end if;
        return new;
      end $$;
      create trigger refuse_texts before insert or update on rowpost.delivery
        for each row execute function public.refuse_texts();
      create trigger refuse_texts before insert on rowpost.email_attempt
        for each row execute function public.refuse_texts()`);
    provider = await startFakeProvider();
    provider.behave = ({ body: { subject }, deliveryid }) => {
      const [outcome, code = ''] = subject.split(' ');
      const said = { errors: [{ message: `refuse ${code}` }] };
      if (outcome === 'rejected') return { kind: 'reply', status: 400, body: JSON.stringify(said) };
      if (outcome === 'retried' && !provider.calls.some((call) => call.deliveryid === deliveryid))
        return { kind: 'reply', status: 500, body: JSON.stringify(said) };
      if (outcome !== 'sent') return { kind: 'accept' };
      return { kind: 'reply', status: 202, headers: { 'x-message-id': `refuse ${code}` } };
    };
    pipeline = await startPipeline(
      db.database,
      await pipelineConfig(QUEUE, { SENDGRID_BASE_URL: provider.url }),
    );
  });
  after(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });

  for (const code of CODES) {
    it(`end their deliveries after one attempt: ${code}`, async () => {
      const tenant = await createTenant(db.database);
      const rules = {
        skipped: { subject: `refuse ${code}`, recipients: ['nobody'] },
        failed: { subject: `refuse ${code}`, sender: 'x' },
        rejected: { subject: `rejected ${code}` },
        sent: { subject: `sent ${code}` },
        retried: { subject: `retried ${code}` },
        other: { subject: 'other' },
      };
      for (const [emailType, rule] of Object.entries(rules))
        await createRule(db.database, tenant, { emailType, ...rule });
      const before = provider.calls.length;
      await writeEvents(db.database, tenant, 1);
      await waitFor('all to end', async () => {
        const { pending, sending, retrying, ...ended } = await countStates(db.database, tenant.tenantid);
        return (
          Object.values(ended).reduce((sum, count) => sum + count, 0) === 6 &&
          !pending &&
          !sending &&
          !retrying
        );
      });
      const { rows } = await db.database.pool.query<{
        email_type: string;
        state: string;
        attempts: number;
        error: string | null;
        outcomes: string[];
      }>(
        `select email_type, state, attempts, error, array(select outcome from rowpost.email_attempt a
           where a.tenantid = d.tenantid and a.deliveryid = d.deliveryid order by attempt) as outcomes
         from rowpost.email_delivery d where tenantid = $1`,
        [tenant.tenantid],
      );
      const ends = Object.fromEntries(
        rows.map(({ email_type, state, attempts, outcomes }) => [email_type, [state, attempts, ...outcomes]]),
      );
      expect(ends).to.deep.equal({
        skipped: ['skipped', 0],
        failed: ['failed', 1, 'failed'],
        rejected: ['failed', 1, 'rejected'],
        sent: ['sent', 1, 'sent'],
        retried: ['sent', 2, 'ambiguous', 'sent'],
        other: ['sent', 1, 'sent'],
      });
      expect(provider.calls.length - before).to.equal(5);
      const said = rows.find(({ email_type }) => email_type === 'rejected')?.error;
      expect(said).to.contain('could not be stored').and.not.contain('refuse');
    });
  }
});

/** A batch with such an event was evaluated again and again: none of its other events was ever sent. */
describe('attack: an event whose deliveries PostgreSQL refuses', () => {
  let db: TestDatabase;
  before(async () => {
    db = await createTestDatabase();
  });
  after(() => db.drop());

  it('ends with a failed delivery, and the others of its batch are sent', async () => {
    const { ledger, pool } = db.database;
    await pool.query(`
      create function public.refuse_key() returns trigger language plpgsql as $$
      begin
        raise exception using errcode = '22021';
      end $$;
      create trigger refuse_key before insert on rowpost.delivery
        for each row when (new.error_code is null and new.key->>'id' = '2') execute function public.refuse_key()`);
    const tenant = await createTenant(db.database);
    await createRule(db.database, tenant);
    await writeEvents(db.database, tenant, 3);
    await pollOutbox(ledger, { batchEvents: 100, pollEvents: 100 });
    const records = new TenantLimiter<number>({ max: 1 });
    const failed = new FailedEvaluations();
    const deps = { ledger, engine: noEngine, limits: NO_LIMITS, records, failed, log: testLog };
    for (let run = 1; ; run++) {
      const batches = await openBatches(ledger, { minAgeMs: -1_000, limit: 10 });
      if (batches.length === 0) break;
      expect(run).to.be.at.most(10);
      for (const batch of batches) await evaluateRules(deps, batch, false).catch(() => undefined);
    }
    const { rows } = await pool.query(
      `select key->>'id' as id, state, error_code from rowpost.email_delivery where tenantid = $1 order by 1`,
      [tenant.tenantid],
    );
    expect(rows).to.deep.equal([
      { id: '1', state: 'pending', error_code: null },
      { id: '2', state: 'failed', error_code: 'POISON' },
      { id: '3', state: 'pending', error_code: null },
    ]);
  });
});
