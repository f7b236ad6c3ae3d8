import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, WebFixture, type Json } from '../api/webFixture.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { waitFor } from '../support/waitFor.js';
import {
  createRule,
  pipelineConfig,
  startPipeline,
  writeEvents,
  type Pipeline,
  type RuleOptions,
} from './pipelineSetup.js';

const ZOE = 'Zoe Bad <zoe at example>';
const EVE = 'Eve <Eve@Example.com>';
const ADA = 'Ada <ada@example.com>';
const ROW = { id: 7, zoe: ZOE, eve: EVE, ada: ADA };
const BROKEN_QUERY = [{ outvar: 'orders', query: '{ nothing_like_it { id } }' }];

interface Case {
  readonly type: RuleOptions;
  readonly state: string;
  readonly code: string | null;
  /** In any order. */
  readonly intended: readonly string[] | null;
  readonly subject: string | null;
  readonly recipients?: readonly string[] | null;
}

const CASES: Readonly<Record<string, Case>> = {
  'sent to all of them': {
    type: { recipients: [ADA], subject: 'Order {{ records.new.id }}' },
    state: 'sent',
    code: null,
    intended: [ADA],
    recipients: [ADA],
    subject: 'Order 7',
  },
  'sent without those who get none': {
    type: { recipients: [ADA, '{{ records.new.eve }}', '{{ records.new.zoe }}'] },
    state: 'sent',
    code: null,
    intended: [ADA, EVE.replace('@Example.com', '@example.com'), ZOE],
    recipients: [ADA],
    subject: 'Welcome',
  },
  'sent with copies': {
    type: { recipients: [ADA], options: { cc: ['c@example.com'], bcc: ['b@example.com', EVE] } },
    state: 'sent',
    code: null,
    intended: [ADA, 'c@example.com', 'b@example.com', EVE.replace('@Example.com', '@example.com')],
    recipients: [ADA],
    subject: 'Welcome',
  },
  'an address that is none': {
    type: { recipients: ['{{ records.new.zoe }}'], subject: 'Order {{ records.new.id }}' },
    state: 'skipped',
    code: 'NO_VALID_RECIPIENT',
    intended: [ZOE],
    recipients: null,
    subject: 'Order 7',
  },
  'a suppressed address': {
    type: { recipients: ['{{ records.new.eve }}'], subject: 'Order {{ records.new.id }}' },
    state: 'skipped',
    code: 'SUPPRESSED',
    intended: [EVE.replace('@Example.com', '@example.com')],
    recipients: null,
    subject: 'Order 7',
  },
  'a template that fails': {
    type: {
      recipients: ['{{ records.new.ada }}'],
      subject: 'Order {{ records.new.id }}',
      template: '{{ 1 | nothing_like_it }}',
    },
    state: 'failed',
    code: 'TEMPLATE_FAILED',
    intended: [ADA],
    recipients: null,
    subject: 'Order 7',
  },
  'a subject that fails': {
    type: { recipients: ['{{ records.new.ada }}'], subject: 'Order {{ 1 | nothing_like_it }}' },
    state: 'failed',
    code: 'TEMPLATE_FAILED',
    intended: [ADA],
    subject: null,
  },
  'a recipient that fails, beside another': {
    type: { recipients: ['{{ 1 | nothing_like_it }}', ADA], subject: 'Order {{ records.new.id }}' },
    state: 'failed',
    code: 'TEMPLATE_FAILED',
    intended: [ADA],
    subject: 'Order 7',
  },
  'a query that fails, whose result the subject has': {
    type: {
      recipients: ['{{ records.new.ada }}'],
      subject: 'Order {{ records.new.id }} of{% for order in orders %} {{ order.name }}{% endfor %}',
      queries: BROKEN_QUERY,
    },
    state: 'failed',
    code: 'EMAIL_QUERY_INVALID',
    intended: [ADA],
    subject: 'Order 7 of',
  },
  'recipients that are no list': {
    type: { recipients: '[{{ records.new.id }}, "{{ records.new.ada }}"', subject: 'S' },
    state: 'failed',
    code: 'RECIPIENTS_INVALID',
    intended: [`[7, "${ADA}"`],
    subject: 'S',
  },
  'a sender that is none': {
    type: { recipients: [ADA], sender: 'nobody', subject: 'Order {{ records.new.id }}' },
    state: 'failed',
    code: 'SENDER_INVALID',
    intended: [ADA],
    subject: 'Order 7',
  },
};

describe('delivery: whom an email is for', () => {
  let fixture: WebFixture;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  let tenant: CreatedTenant;
  let root: string;
  let tables = 0;

  before(async () => {
    provider = await startFakeProvider();
    fixture = await WebFixture.start();
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url });
    pipeline = await startPipeline(fixture.testDatabase.database, config, {
      engine: fixture.engine,
      templates: fixture.templates,
    });
    tenant = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await fixture.control(
      root,
      `mutation { set_email_apikey(apikey: "SG.key") { apikey }
        create_email_suppression(input: { address: "eve@example.com" }) { address } }`,
    );
  });
  after(async () => {
    await pipeline.stop();
    await fixture.stop();
    await provider.stop();
  });
  beforeEach(() => {
    provider.behave = () => ({ kind: 'accept' });
  });

  async function send(type: RuleOptions): Promise<Json> {
    const { database } = fixture.testDatabase;
    const from = { tenantid: tenant.tenantid, roleid: tenant.rootRoleid, apiKey: 'SG.key' };
    const target = `table_${++tables}`;
    await createRule(database, from, { ...type, emailType: target, targets: [target] });
    await writeEvents(database, from, 1, { target, new: ROW });
    return waitFor('the end of the delivery', async () => {
      const { data } = await fixture.control(
        root,
        `{ email_delivery(filter: "target = '${target}' and state in ['sent', 'failed', 'skipped']") {
          deliveryid state status error_code recipients intended_recipients subject } }`,
      );
      return (at(data, 'email_delivery') as Json[])[0];
    });
  }

  for (const [name, { type, state, code, intended, subject, ...given }] of Object.entries(CASES)) {
    it(`is on record, with its subject: ${name}`, async () => {
      const { intended_recipients, ...delivery } = await send(type);
      expect(delivery).to.deep.include({ state, error_code: code, subject, ...given });
      expect(intended_recipients).to.have.members([...(intended ?? [])]);
      const found = await fixture.control(
        root,
        `{ email_delivery(filter: "intended_recipients ilike '%${(intended?.at(-1) ?? '').slice(0, 4)}%'") { deliveryid } }`,
      );
      expect((at(found.data, 'email_delivery') as Json[]).map((row) => row['deliveryid'])).to.include(
        delivery['deliveryid'],
      );
    });
  }

  it('is on record while the email is retried, and after it was', async () => {
    const replies = [500, 500];
    provider.behave = () => {
      const status = replies.pop();
      return status === undefined ? { kind: 'accept' } : { kind: 'reply', status };
    };
    const sent = await send({ recipients: [ADA, '{{ records.new.zoe }}'] });
    expect(replies).to.deep.equal([]);
    expect(sent).to.deep.include({ state: 'sent', intended_recipients: [ADA, ZOE], recipients: [ADA] });
  });

  it('takes no more than an email may have', async () => {
    const many = `{% for i in range(3000) %}x{{ i }},{% endfor %}`;
    const { intended_recipients } = await send({ recipients: [many] });
    expect(intended_recipients).to.have.length(1_000);
    const long = await send({ recipients: [`{{ 'x' * 5000 }}`], subject: 'S' });
    expect((long['intended_recipients'] as string[]).map(({ length }) => length)).to.deep.equal([320]);
  });
});
