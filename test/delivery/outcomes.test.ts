import { expect } from 'chai';
import { pino } from 'pino';
import { createTemplatePool, type TemplatePool } from 'rowpost-jinja2';
import { resumeTenant } from '../../src/db/ledger/pause.js';
import { partOf, startFakeProvider, type Behavior, type FakeProvider } from '../support/fakeProvider.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';
import {
  QUEUE,
  countStates,
  createRule,
  createTenant,
  keyRing,
  pipelineConfig,
  startPipeline,
  writeEvents,
  type Pipeline,
  type RuleOptions,
  type TestTenant,
} from './pipelineSetup.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';
import { knexOf } from '../support/knexOf.js';

describe(`delivery: outcomes end as states, queue in ${QUEUE}`, () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  let templates: TemplatePool;
  let tenant: TestTenant;
  /** What each tenant meets; the others are accepted. */
  const behaviors = new Map<string, Behavior[]>();
  const lines: string[] = [];

  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    provider.behave = (call) => behaviors.get(call.tenantid)?.shift() ?? { kind: 'accept' };
    templates = createTemplatePool();
    const config = await pipelineConfig(QUEUE, { SENDGRID_BASE_URL: provider.url, MAX_ATTEMPTS: '4' });
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    pipeline = await startPipeline(db.database, config, { templates, log });
  });
  after(async () => {
    await pipeline.stop();
    await templates.close();
    await provider.stop();
    await db.drop();
  });
  beforeEach(async () => {
    tenant = await createTenant(db.database);
  });

  /** One event, and the delivery it ended as. */
  const deliver = async (rule: RuleOptions = {}, event: { new?: unknown } = {}, ...meets: Behavior[]) => {
    behaviors.set(String(tenant.tenantid), meets);
    await createRule(db.database, tenant, rule);
    await writeEvents(db.database, tenant, 1, event);
    return waitFor('the end of the delivery', async () => {
      const row = (await knexOf(db.database)('rowpost.email_delivery')
        .where({ tenantid: tenant.tenantid })
        .whereIn('state', ['sent', 'failed', 'skipped', 'unknown', 'paused'])
        .first()) as Record<string, unknown> | undefined;
      return row;
    });
  };
  const outcomes = async () =>
    (
      (await knexOf(db.database)('rowpost.email_attempt')
        .where({ tenantid: tenant.tenantid })
        .orderBy('attempt')) as { outcome: string }[]
    ).map((row) => row.outcome);
  /** The numbers of the tenant's attempts in the worker's log, once it has so many. */
  const loggedAttempts = (count: number) =>
    waitFor('the log', () => {
      const attempts = lines
        .map((line) => JSON.parse(line) as { msg?: string; tenantid?: number; attempt?: number })
        .filter(({ msg, tenantid }) => msg === 'delivery' && tenantid === tenant.tenantid)
        .map(({ attempt }) => attempt);
      return attempts.length >= count && attempts;
    });
  const calls = () => provider.calls.filter((call) => call.tenantid === String(tenant.tenantid));

  it('500, a hang and a reset are tried again, each counted as a possible duplicate', async () => {
    const row = await deliver(
      {},
      {},
      { kind: 'reply', status: 500 },
      { kind: 'hang' },
      { kind: 'reset-after' },
    );
    expect(row).to.include({ state: 'sent', attempts: 4 });
    expect(await outcomes()).to.deep.equal(['ambiguous', 'ambiguous', 'ambiguous', 'sent']);
    expect(calls().filter((call) => call.accepted)).to.have.length(2);
    expect(await loggedAttempts(4)).to.deep.equal([1, 2, 3, 4]);
    // By which a receiver tells the duplicate.
    const [{ deliveryid } = { deliveryid: '' }] = calls();
    const messageIds = new Set(calls().map(({ body }) => body.headers?.['Message-ID']));
    expect([...messageIds]).to.deep.equal([`<delivery.${tenant.tenantid}.${deliveryid}@localhost>`]);
  });

  it('ends as failed when the attempts are used up', async () => {
    const row = await deliver(
      {},
      {},
      ...Array.from({ length: 9 }, () => ({ kind: 'reply', status: 503 }) as const),
    );
    expect(row).to.include({ state: 'failed', attempts: 4, error_code: 'CARRIER_503' });
    expect(calls()).to.have.length(4);
  });

  it('at most once parks what can’t be known, after one call', async () => {
    const row = await deliver({ delivery: 'at_most_once' }, {}, { kind: 'reset-after' });
    expect(row).to.include({ state: 'unknown', error_code: 'ECONNRESET' });
    expect(calls()).to.have.length(1);
  });

  it('a rejected email is failed, in the carrier’s words', async () => {
    const body = JSON.stringify({ errors: [{ message: 'content is empty', field: 'content' }] });
    const row = await deliver({}, {}, { kind: 'reply', status: 400, body });
    expect(row).to.include({ state: 'failed', error_code: 'CARRIER_400', error: 'content is empty' });
    expect(await outcomes()).to.deep.equal(['rejected']);
  });

  it('a refused key pauses its tenant alone, burns no attempt, and a new key resumes', async () => {
    const other = await createTenant(db.database);
    await createRule(db.database, other);
    const paused = await deliver({}, {}, { kind: 'reply', status: 401 });
    expect(paused).to.include({ state: 'paused', attempts: 0, error_code: 'APIKEY_REFUSED' });
    await writeEvents(db.database, tenant, 3);
    await writeEvents(db.database, other, 3);
    await waitFor(
      'the rest to be paused',
      async () => (await countStates(db.database, tenant.tenantid))['paused'] === 4,
    );
    expect(calls(), 'one call is enough to know').to.have.length(1);
    await waitFor(
      'the other tenant',
      async () => (await countStates(db.database, other.tenantid))['sent'] === 3,
    );
    await inTransaction(db.database.pool, async (trx) => {
      await trx.query(
        'update rowpost.email_apikey set apikey_encrypted = $2, version = 2 where tenantid = $1',
        [tenant.tenantid, keyRing.encrypt('SG.new', `email_apikey:${tenant.tenantid}`)],
      );
      await resumeTenant(trx, tenant.tenantid, 0);
    });
    await waitFor('the emails', async () => (await countStates(db.database, tenant.tenantid))['sent'] === 4);
    expect(
      calls()
        .slice(1)
        .map((call) => call.apiKey),
    ).to.deep.equal(Array(4).fill('SG.new'));
  });

  it('429 delays its tenant only', async () => {
    const other = await createTenant(db.database);
    await createRule(db.database, other);
    behaviors.set(String(tenant.tenantid), [{ kind: 'reply', status: 429, headers: { 'retry-after': '5' } }]);
    await createRule(db.database, tenant);
    await writeEvents(db.database, tenant, 1);
    await waitFor('the first call', () => calls().length === 1);
    const limitedAtMs = calls()[0]!.atMs;
    await waitFor(
      'the delivery to wait',
      async () => (await countStates(db.database, tenant.tenantid))['retrying'],
    );
    await writeEvents(db.database, tenant, 2);
    await writeEvents(db.database, other, 3);
    await waitFor(
      'the other tenant',
      async () => (await countStates(db.database, other.tenantid))['sent'] === 3,
    );
    expect(Date.now() - limitedAtMs).to.be.below(5_000);
    await waitFor('the emails', async () => (await countStates(db.database, tenant.tenantid))['sent'] === 3);
    for (const call of calls().slice(1)) expect(call.atMs - limitedAtMs).to.be.at.least(4_900);
    expect(await outcomes()).to.include('rate_limited');
  });

  it('renders every text with the row, and keeps data from adding recipients', async () => {
    const row = await deliver(
      {
        template: '<p>{{ records.new.name }}</p>',
        subject: '{{ operation }} {{ target }}\r\nBcc: x',
        sender: '{{ records["new"]["shop"] }} <shop@example.com>',
        recipients: '["{{ records.new.email }}", "fix@example.com"]',
        options: { cc: ['{{ records.new.cc }}'] },
      },
      {
        new: {
          name: '<b>Ada</b>',
          shop: 'Shop',
          email: 'ada@example.com", "eve@example.com',
          cc: 'c@d.org, e@f.org',
        },
      },
    );
    expect(row).to.include({ state: 'sent', subject: 'insert customer Bcc: x' });
    const { body } = calls()[0]!;
    expect(partOf(body)).to.equal('<p>&lt;b&gt;Ada&lt;/b&gt;</p>');
    expect(body.from).to.deep.equal({ email: 'shop@example.com', name: 'Shop' });
    expect(body.personalizations[0]!.to).to.deep.equal([{ email: 'fix@example.com' }]);
    expect(body.personalizations[0]!.cc).to.deep.equal([{ email: 'c@d.org' }, { email: 'e@f.org' }]);
  });

  it('keeps data in a name, or in one text of a JSON list, from adding recipients', async () => {
    const txt = 'Joe <evil@x.test>, x';
    const both = 'x@y.test, evil@x.test';
    const row = await deliver(
      {
        template: 'T',
        subject: 'S',
        sender: '"{{ records.new.quoting }}" <shop@example.com>',
        recipients: ['{{ records.new.txt }} <x@y.test>', '{{ records.new.both }}'],
        options: {
          cc: '["{{ records.new.both2 }}", "a@y.test, {{ records.new.named }}", {{ records.new.list }}, {{ records.new.two }}]',
          bcc: ['{% for n in records.new.names %}{{ n }} <{{ loop.index }}@z.test>, {% endfor %}'],
        },
      },
      {
        new: {
          txt,
          both,
          both2: 'b@y.test, evil2@x.test',
          named: '"Last, First" <named@y.test>',
          list: 'c@y.test, evil3@x.test',
          two: ['d@y.test', 'e@y.test, evil5@x.test'],
          names: [txt, 'Ann" <evil4@x.test>; "', 'Bob\\'],
          quoting: 'a" <evil@x.test>, "b\\',
        },
      },
    );
    expect(row).to.include({ state: 'sent' });
    const { body } = calls()[0]!;
    const { to, cc, bcc } = body.personalizations[0]!;
    // In quotes, as SendGrid asks for names with punctuation.
    expect(to[0]).to.deep.equal({ email: 'x@y.test', name: `"${txt}"` });
    // An item that is one value and nothing else may be several addresses.
    expect(to.slice(1)).to.deep.equal([{ email: 'evil@x.test' }]);
    expect(cc).to.deep.equal([
      { email: 'a@y.test' },
      { email: 'named@y.test', name: '"Last, First"' },
      { email: 'd@y.test' },
    ]);
    expect(bcc!.map(({ email }) => email)).to.deep.equal(['1@z.test', '2@z.test', '3@z.test']);
    expect(body.from.email).to.equal('shop@example.com');
  });

  const unsendable: readonly [string, RuleOptions, object][] = [
    [
      'no valid recipient',
      { recipients: ['{{ records.new.missing }}', 'nobody'] },
      { state: 'skipped', error_code: 'NO_VALID_RECIPIENT' },
    ],
    ['no recipient at all', { recipients: [] }, { state: 'skipped', error_code: 'NO_VALID_RECIPIENT' }],
    [
      'a template that fails',
      { template: '{{ 1 / 0 }}' },
      { state: 'failed', error_code: 'TEMPLATE_FAILED' },
    ],
    ['a sender that is none', { sender: 'the shop' }, { state: 'failed', error_code: 'SENDER_INVALID' }],
    ['two senders', { sender: 'a@b.org, c@d.org' }, { state: 'failed', error_code: 'SENDER_INVALID' }],
    ['an empty subject', { subject: ' {{ "" }} ' }, { state: 'failed', error_code: 'SUBJECT_EMPTY' }],
    [
      'an endless subject',
      { subject: 'x'.repeat(10_001) },
      { state: 'failed', error_code: 'SUBJECT_TOO_LONG' },
    ],
    [
      'recipients that are no list',
      { recipients: '[{{ records.new.id }}' },
      { state: 'failed', error_code: 'RECIPIENTS_INVALID' },
    ],
  ];
  for (const [name, rule, expected] of unsendable) {
    it(`${name} → ${JSON.stringify(expected)}`, async () => {
      expect(await deliver(rule)).to.include(expected);
      expect(calls()).to.deep.equal([]);
      // What is skipped was not attempted.
      expect(await loggedAttempts(1)).to.deep.equal([(await outcomes()).length]);
    });
  }

  it('a rule deleted before its email left ends as skipped', async () => {
    behaviors.set(String(tenant.tenantid), [{ kind: 'reply', status: 500 }]);
    const ruleid = await createRule(db.database, tenant);
    await knexOf(db.database)('rowpost.email_apikey')
      .where({ tenantid: tenant.tenantid })
      .update({ paused_code: 'X' });
    await writeEvents(db.database, tenant, 1);
    await waitFor('the pause', async () => (await countStates(db.database, tenant.tenantid))['paused']);
    await knexOf(db.database)('rowpost.email_rule').where({ ruleid }).delete();
    await inTransaction(db.database.pool, (tx) => resumeTenant(tx, tenant.tenantid, 0));
    await waitFor('the skip', async () => (await countStates(db.database, tenant.tenantid))['skipped']);
    expect(calls()).to.deep.equal([]);
  });
});
