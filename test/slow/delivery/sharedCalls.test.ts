import { once } from 'node:events';
import { expect } from 'chai';
import { storeAccounts } from '../../../src/db/email/emailAccounts.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';
import type { Account } from '../../../src/email/carriers/account.js';
import {
  countStates,
  createRule,
  createTenant,
  forkWorker,
  keyRing,
  pipelineConfig,
  pipelineEnv,
  startPipeline,
  writeEvents,
  type TestTenant,
} from '../../delivery/pipelineSetup.js';
import { startFakeApi, type ApiCall, type ApiResponse, type FakeApi } from '../../support/fakeApi.js';
import { knexOf } from '../../support/knexOf.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

const EMAILS = Number(process.env['EMAILS'] ?? 1_000);
/** Of Resend, by default. */
const CALLS_PER_SECOND = 2;

describe('delivery: emails that share calls of their carrier', () => {
  let db: TestDatabase;
  let api: FakeApi;
  let tenant: TestTenant;
  let env: Readonly<Record<string, string>>;
  /** How often the carrier has taken each delivery: its own books. */
  const taken = new Map<string, number>();
  /** When it was called, by `performance.now()`. */
  const calledAtMs: number[] = [];
  let refused: number;
  /** What happens to the response to a call that is shared. */
  let onShared: () => 'reply' | 'hang';
  /** Of Resend by the keys it has seen, as it responds to the same one again. */
  const responses = new Map<string, ApiResponse>();

  beforeEach(async () => {
    db = await createTestDatabase();
    api = await startFakeApi();
    tenant = await createTenant(db.database);
    await createRule(db.database, tenant);
    for (const books of [taken, responses]) books.clear();
    calledAtMs.length = 0;
    refused = 0;
    onShared = () => 'reply';
    api.reply = (call) => (call.path.startsWith('/emails') ? asResend(call) : asPostmark(call));
    env = await pipelineEnv('postgres', {
      DATABASE_URL: db.url,
      RESEND_BASE_URL: api.url,
      POSTMARK_BASE_URL: api.url,
    });
  });
  afterEach(async () => {
    await api.stop();
    await db.drop();
  });

  function take(ids: readonly (string | undefined)[]): void {
    for (const id of ids) taken.set(String(id), (taken.get(String(id)) ?? 0) + 1);
  }

  /** Two calls in any second, and each key once. */
  function asResend({ path, headers, body }: ApiCall): ApiResponse {
    const nowMs = performance.now();
    const isOver = calledAtMs.filter((atMs) => atMs > nowMs - 1_000).length >= CALLS_PER_SECOND;
    const limit = { 'ratelimit-policy': `${CALLS_PER_SECOND};w=1` };
    if (isOver) {
      refused += 1;
      return { status: 429, headers: { ...limit, 'retry-after': '1' } };
    }
    calledAtMs.push(nowMs);
    const key = String(headers['idempotency-key']);
    const emails = [JSON.parse(body.toString()) as ResendEmail].flat();
    if (!responses.has(key)) {
      take(emails.map(({ tags }) => tags.find(({ name }) => name === 'deliveryid')?.value));
      const data = emails.map((_, index) => ({ id: `${responses.size}.${index}` }));
      responses.set(key, { status: 200, headers: limit, body: path === '/emails' ? data[0] : { data } });
    }
    return path === '/emails' || onShared() === 'reply' ? responses.get(key)! : 'hang';
  }

  function asPostmark({ path, body }: ApiCall): ApiResponse {
    const emails = [JSON.parse(body.toString()) as PostmarkEmail].flat();
    take(emails.map(({ Metadata }) => Metadata.deliveryid));
    const items = emails.map(({ Metadata }) => ({ ErrorCode: 0, MessageID: Metadata.deliveryid }));
    if (path === '/email') return { status: 200, body: items[0] };
    return onShared() === 'reply' ? { status: 200, body: items } : 'hang';
  }

  const setAccount = (account: Account): Promise<unknown> =>
    inTransaction(db.database.pool, (tx) =>
      storeAccounts(tx, keyRing, {
        tenantid: tenant.tenantid,
        transports: JSON.stringify([account]),
        setBy: tenant.roleid,
        emailsPerSecond: 0,
      }),
    );
  const allSent = async (): Promise<boolean> =>
    (await countStates(db.database, tenant.tenantid))['sent'] === EMAILS;
  const ambiguousAttempts = async (): Promise<ReadonlySet<string>> => {
    const rows = await knexOf(db.database)('rowpost.email_attempt')
      .where({ tenantid: tenant.tenantid, outcome: 'ambiguous' })
      .select<{ deliveryid: string }[]>('deliveryid');
    return new Set(rows.map(({ deliveryid }) => deliveryid));
  };

  it(`Resend, ${CALLS_PER_SECOND} calls a second for two workers: ${EMAILS} emails in few calls`, async () => {
    await setAccount({ kind: 'resend', apikey: 're_canary', shareCalls: true });
    await writeEvents(db.database, tenant, EMAILS);
    const pipeline = await startPipeline(db.database, await pipelineConfig('postgres', env), { workers: 2 });
    await waitFor('all emails', allSent, { timeoutMs: 300_000 });
    await pipeline.stop();
    expect([...taken.values()]).to.deep.equal(new Array(EMAILS).fill(1));
    // None, unless a busy machine delays a call, so that the next one comes too soon after it.
    expect(refused).to.be.at.most(3);
    // As many as were ready in time: on a quiet machine, all but the first and the last are full.
    expect(calledAtMs.length).to.be.at.most(EMAILS / 20);
    expect(await ambiguousAttempts()).to.have.property('size', 0);
  });

  it('Resend, unless calls are shared: none refused once the rate limit is known', async () => {
    await setAccount({ kind: 'resend', apikey: 're_canary' });
    const pipeline = await startPipeline(db.database, await pipelineConfig('postgres', env));
    await writeEvents(db.database, tenant, 1);
    await waitFor('the first email', () => taken.size === 1);
    await writeEvents(db.database, tenant, 9);
    await waitFor('all emails', () => taken.size === 10);
    expect(refused).to.equal(0);
    await pipeline.stop();
  });

  for (const account of [
    { kind: 'resend', apikey: 're_canary', shareCalls: true },
    { kind: 'postmark', apikey: 'token' },
  ] as const) {
    it(`${account.kind}: a worker is killed during a call: none lost, and each that comes twice is on record`, async () => {
      await setAccount(account);
      let shared = 0;
      onShared = () => ((shared += 1) > 1 ? 'hang' : 'reply');
      const pipeline = await startPipeline(db.database, await pipelineConfig('postgres', env), {
        workers: 0,
      });
      const doomed = await forkWorker(env);
      await writeEvents(db.database, tenant, EMAILS);
      await waitFor('a call without a response', () => shared > 1);
      doomed.kill('SIGKILL');
      await once(doomed, 'exit');
      onShared = () => 'reply';
      const next = await forkWorker(env);
      await waitFor('all emails', allSent, { timeoutMs: 300_000 });
      next.kill('SIGTERM');
      await once(next, 'exit');
      await pipeline.stop();

      expect(taken.size, 'lost').to.equal(EMAILS);
      const twice = [...taken].filter(([, times]) => times > 1).map(([deliveryid]) => deliveryid);
      expect(twice, 'the killed call').not.to.deep.equal([]);
      const onRecord = await ambiguousAttempts();
      expect(twice.filter((deliveryid) => !onRecord.has(deliveryid))).to.deep.equal([]);
    });
  }
});

interface ResendEmail {
  readonly tags: readonly { readonly name: string; readonly value: string }[];
}
interface PostmarkEmail {
  readonly Metadata: { readonly deliveryid: string };
}
