import { once } from 'node:events';
import { expect } from 'chai';
import { storeAccounts } from '../../../src/db/email/emailAccounts.js';
import { redriveDeliveries } from '../../../src/db/ledger/redrive.js';
import type { Account } from '../../../src/email/carriers/account.js';
import { startFakeApi, type ApiResponse, type FakeApi } from '../../support/fakeApi.js';
import { startFakeSmtp, type FakeSmtp } from '../../support/fakeSmtp.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';
import {
  countStates,
  createRule,
  createTenant,
  forkWorker,
  keyRing,
  pipelineConfig,
  pipelineEnv,
  plainRenderer,
  startPipeline,
  writeEvents,
  type TestTenant,
} from '../../delivery/pipelineSetup.js';
import { knexOf } from '../../support/knexOf.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

const STRIKES = 200;
/** Lost responses of one delivery, one after the other. */
const LOST_EACH = 2;

describe('delivery: lost responses, by carrier', function () {
  let db: TestDatabase;
  let api: FakeApi;
  let server: FakeSmtp;
  let tenant: TestTenant;
  let env: Readonly<Record<string, string>>;
  /** Ids of the emails that the carrier took, by idempotency key: its own books. */
  const taken = new Map<string, string>();
  /** What happens to an email's response, by how often the carrier was asked for it. */
  let onResponse: (times: number) => 'reply' | 'cut' | 'hang';
  const asked = new Map<string, number>();

  beforeEach(async () => {
    db = await createTestDatabase();
    api = await startFakeApi();
    server = await startFakeSmtp({ disabledCommands: ['STARTTLS'] });
    tenant = await createTenant(db.database);
    await createRule(db.database, tenant);
    taken.clear();
    asked.clear();
    onResponse = () => 'reply';
    api.reply = ({ headers }): ApiResponse => {
      const key = String(headers['idempotency-key']);
      const times = (asked.get(key) ?? 0) + 1;
      asked.set(key, times);
      const id = taken.get(key) ?? `email-${taken.size + 1}`;
      taken.set(key, id);
      const what = onResponse(times);
      return what === 'reply' ? { status: 200, body: { id } } : what;
    };
    env = await pipelineEnv('postgres', {
      DATABASE_URL: db.url,
      RESEND_BASE_URL: api.url,
      MAX_ATTEMPTS: '6',
      WORKER_CONCURRENCY: '200',
      SEND_DEADLINE_MS: '10000', // 200 at once: responses that are merely slow are not the lost ones
    });
  });
  afterEach(async () => {
    await api.stop();
    await server.stop();
    await db.drop();
  });
  const setAccount = (carriers: Account) =>
    inTransaction(db.database.pool, (tx) =>
      storeAccounts(tx, keyRing, {
        tenantid: tenant.tenantid,
        transports: JSON.stringify([carriers]),
        setBy: tenant.roleid,
        emailsPerSecond: 0,
      }),
    );
  const allSent = async (count = STRIKES) =>
    (await countStates(db.database, tenant.tenantid))['sent'] === count;
  const attempts = () =>
    knexOf(db.database)('rowpost.email_attempt')
      .where({ tenantid: tenant.tenantid })
      .select<{ deliveryid: string; outcome: string; carrier: string; error: string | null }[]>(
        'deliveryid',
        'outcome',
        'carrier',
        'error',
      );

  it(`with idempotency keys: ${STRIKES} emails, each response lost ${LOST_EACH} times, and no duplicate`, async () => {
    await setAccount({ kind: 'resend', apikey: 're_canary' });
    onResponse = (times) => (times <= LOST_EACH ? 'cut' : 'reply');
    const config = await pipelineConfig('postgres', env);
    const pipeline = await startPipeline(db.database, config, { templates: plainRenderer });
    await writeEvents(db.database, tenant, STRIKES);
    await waitFor('all emails', () => allSent(), { timeoutMs: 300_000 });
    await pipeline.stop();

    expect(taken.size, 'emails that the carrier took').to.equal(STRIKES);
    // More where the machine is so busy that a response comes too late as well.
    expect(api.calls.length).to.be.at.least(STRIKES * (LOST_EACH + 1));
    const lost = (await attempts()).filter(({ outcome }) => outcome === 'ambiguous');
    expect(lost).to.have.length(api.calls.length - STRIKES);
    for (const { carrier, error } of lost) {
      expect(carrier).to.equal('resend');
      expect(error).to.include('sending it again is no duplicate');
    }
    const { rows } = await db.database.pool.query<{ provider_message_id: string }>(
      'select provider_message_id from rowpost.email_delivery',
    );
    expect(rows.map((row) => row.provider_message_id)).to.have.members([...taken.values()]);
  });

  it('with idempotency keys: a redrive is an email of its own', async () => {
    await setAccount({ kind: 'resend', apikey: 're_canary' });
    const config = await pipelineConfig('postgres', env);
    const pipeline = await startPipeline(db.database, config, { templates: plainRenderer });
    await writeEvents(db.database, tenant, 1);
    await waitFor('the email', () => allSent(1));
    const [{ deliveryid } = { deliveryid: '' }] = await attempts();
    await inTransaction(db.database.pool, (tx) => redriveDeliveries(tx, tenant.tenantid, [deliveryid], 0));
    await waitFor('the second email', () => taken.size === 2);
    await pipeline.stop();
  });

  it('with idempotency keys: data that changed after a lost response may become a duplicate, which is recorded', async () => {
    await setAccount({ kind: 'resend', apikey: 're_canary' });
    const keys: string[] = [];
    const responses: ApiResponse[] = [
      'cut',
      { status: 409, body: { name: 'invalid_idempotent_request', message: 'different payload' } },
      'cut',
    ];
    api.reply = ({ headers }) => {
      keys.push(String(headers['idempotency-key']));
      return responses[keys.length - 1] ?? { status: 200, body: { id: 'email-1' } };
    };
    const config = await pipelineConfig('postgres', env);
    const pipeline = await startPipeline(db.database, config, { templates: plainRenderer });
    await writeEvents(db.database, tenant, 1);
    await waitFor('the email', () => allSent(1));
    await pipeline.stop();
    const [first, second, third, fourth] = keys;
    expect([second, third, fourth]).to.deep.equal([first, `${first}.2`, `${first}.2`]);
    const errors = (await attempts()).filter(({ outcome }) => outcome === 'ambiguous');
    expect(errors).to.have.length(3);
    expect(errors.filter(({ error }) => error?.includes('may be a duplicate'))).to.have.length(1);
  });

  it('with idempotency keys: a key refused for other data leaves at_most_once unknown', async () => {
    tenant = await createTenant(db.database);
    await setAccount({ kind: 'resend', apikey: 're_canary' });
    await createRule(db.database, tenant, { delivery: 'at_most_once' });
    api.reply = () => ({ status: 409, body: { name: 'invalid_idempotent_request', message: 'x' } });
    const config = await pipelineConfig('postgres', env);
    const pipeline = await startPipeline(db.database, config, { templates: plainRenderer });
    await writeEvents(db.database, tenant, 1);
    await waitFor('the end', async () => (await countStates(db.database, tenant.tenantid))['unknown'] === 1);
    await pipeline.stop();
    expect(api.calls).to.have.length(1);
  });

  for (const carrier of ['resend', 'smtp'] as const) {
    it(`${carrier}: a worker killed with the email taken and no response: ${carrier === 'resend' ? 'no duplicate' : 'each is recorded'}`, async () => {
      await setAccount(
        carrier === 'resend'
          ? { kind: 'resend', apikey: 're_canary' }
          : {
              kind: 'smtp',
              host: '127.0.0.1',
              port: server.port,
              security: 'none',
              verifyCertificate: true,
              maxConnections: 20,
            },
      );
      onResponse = () => 'hang';
      server.afterDot = () => ({ taken: true, reply: 'hang' });
      const held = carrier === 'resend' ? 100 : 20;
      const inFlight = () => (carrier === 'resend' ? api.calls.length : server.emails.length);
      const pipeline = await startPipeline(db.database, await pipelineConfig('postgres', env), {
        workers: 0,
      });
      const doomed = await forkWorker(env);
      await writeEvents(db.database, tenant, held);
      await waitFor('emails without a response', () => inFlight() >= held);
      doomed.kill('SIGKILL');
      await once(doomed, 'exit');
      onResponse = () => 'reply';
      server.afterDot = () => ({ taken: true, reply: '250 taken' });
      const next = await forkWorker(env);
      await waitFor('all emails', () => allSent(held));
      next.kill('SIGKILL');
      await pipeline.stop();

      const ambiguous = (await attempts()).filter(({ outcome }) => outcome === 'ambiguous');
      expect(ambiguous).to.have.length(held);
      for (const attempt of ambiguous) expect(attempt.carrier).to.equal(carrier);
      if (carrier === 'resend') expect(taken.size).to.equal(held);
      else {
        const byMessage = new Map<string, number>();
        for (const { parsed } of server.emails) {
          const id = parsed.messageId ?? '';
          byMessage.set(id, (byMessage.get(id) ?? 0) + 1);
        }
        // Each twice, and each of these recorded as what may be a duplicate.
        expect(byMessage.size).to.equal(held);
        expect([...byMessage.values()].every((count) => count === 2)).to.equal(true);
      }
    });
  }
});
