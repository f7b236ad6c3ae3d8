import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, WebFixture, type Json } from '../api/webFixture.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { waitFor } from '../support/waitFor.js';
import { createRule, pipelineConfig, startPipeline, writeEvents, type Pipeline } from './pipelineSetup.js';

const ROW = {
  good: 'ada@example.com',
  bad: 'no-at',
  none: null,
  list: ['ada@example.com', 'Grace Hopper <grace@example.com>', 'no-at'],
  text: 'ada@example.com, no-at; bob@',
};

/** Recipients, whom they reach, and what else is on record. */
const CASES: readonly (readonly [
  recipients: readonly string[] | string,
  to: readonly string[],
  invalid: readonly string[],
])[] = [
  [['b@x.example', 'no-at'], ['b@x.example'], ['no-at']],
  [['{{ records.new.good }}', '{{ records.new.bad }}'], ['ada@example.com'], ['no-at']],
  [['{{ records.new.text }}'], ['ada@example.com'], ['bob@', 'no-at']],
  ['["{{ records.new.good }}", "{{ records.new.bad }}"]', ['ada@example.com'], ['no-at']],
  ['[{{ records.new.list }}]', ['ada@example.com', 'grace@example.com'], ['no-at']],
  [
    '["ada@example.com", 5, {"a": "b"}, [["x@y.org"]], null, ""]',
    ['ada@example.com'],
    ['5', '["x@y.org"]', '{"a":"b"}'],
  ],
  // A list in a value, as templates print it.
  [['{{ records.new.list | tojson }}'], ['ada@example.com', 'grace@example.com'], ['no-at']],
  [
    ['{{ records.new.list | tojson }}', 'c@d.org'],
    ['ada@example.com', 'grace@example.com', 'c@d.org'],
    ['no-at'],
  ],
  ['{{ records.new.list | tojson }}', ['ada@example.com', 'grace@example.com'], ['no-at']],
  [['{{ [records.new.good, "x@y.org, z@y.org"] | tojson }}'], ['ada@example.com'], ['x@y.org, z@y.org']],
];

describe('delivery: texts that are no address', () => {
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
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
  });
  after(async () => {
    await pipeline.stop();
    await fixture.stop();
    await provider.stop();
  });
  beforeEach(() => {
    provider.behave = () => ({ kind: 'accept' });
  });

  async function send(recipients: readonly string[] | string, options: object = {}) {
    const { database } = fixture.testDatabase;
    const from = { tenantid: tenant.tenantid, roleid: tenant.rootRoleid, apiKey: 'SG.key' };
    const target = `table_${++tables}`;
    await createRule(database, from, { emailType: target, targets: [target], recipients, options });
    await writeEvents(database, from, 1, { target, new: ROW });
    const delivery = await waitFor('the end of the delivery', async () => {
      const { data } = await fixture.control(
        root,
        `{ email_delivery(filter: "target = '${target}' and state in ['sent', 'failed', 'skipped']") {
          deliveryid state email_event_collection { event recipient reason type } } }`,
      );
      return (at(data, 'email_delivery') as Json[])[0];
    });
    const email = provider.calls.find(({ deliveryid }) => deliveryid === String(delivery['deliveryid']));
    const [personalization] = email?.body.personalizations ?? [];
    const emails = (items: readonly { email: string }[] = []): string[] => items.map(({ email }) => email);
    const events = delivery['email_event_collection'] as Json[];
    return {
      state: delivery['state'],
      to: emails(personalization?.to),
      cc: emails(personalization?.cc),
      events: events.sort((a, b) => (String(a['recipient']) < String(b['recipient']) ? -1 : 1)),
    };
  }

  const dropped = (recipient: string): Json => ({
    event: 'dropped',
    recipient,
    reason: 'not an address',
    type: null,
  });

  for (const [recipients, to, invalid] of CASES) {
    it(`are events of the delivery: ${JSON.stringify(recipients)}`, async () => {
      const sent = await send(recipients);
      expect(sent).to.deep.include({ state: 'sent', to, events: [...invalid].sort().map(dropped) });
    });
  }

  it('are events whichever list they are in, once however often the email is attempted', async () => {
    const states = [500, 500];
    provider.behave = () => {
      const status = states.pop();
      return status === undefined ? { kind: 'accept' } : { kind: 'reply', status };
    };
    const sent = await send(['ada@example.com'], {
      cc: ['cc@example.com', 'nobody'],
      bcc: ['{{ records.new.bad }}'],
    });
    expect(states).to.deep.equal([]);
    expect(sent).to.deep.equal({
      state: 'sent',
      to: ['ada@example.com'],
      cc: ['cc@example.com'],
      events: ['no-at', 'nobody'].map(dropped),
    });
  });

  it('are events up to a limit, which says how many there are', async () => {
    const { events } = await send([`{% for i in range(150) %}x{{ i }},{% endfor %}ada@example.com`]);
    expect(events).to.have.length(100);
    expect(events[0]!['reason']).to.equal('not an address, as are 50 more');
  });

  it('are warnings of a preview, with their field', async () => {
    const input = {
      email_type: 'draft',
      subject: 'S',
      sender: 'shop@example.com',
      recipients: ['b@x.example', '{{ records.new.bad }}'],
      options: { cc: ['{{ records.new.text }}'] },
      template: 'T',
    };
    const { data } = await fixture.control(
      root,
      `query ($input: email_typesInput, $context: GenericScalar) { Utility { preview_email(input: $input, context: $context) {
        recipients cc warnings { code field message } error { code } } } }`,
      { input, context: { records: { new: ROW } } },
    );
    const warning = (field: string, text: string): Json => ({
      code: 'ADDRESS_INVALID',
      field,
      message: `not an address: "${text}"`,
    });
    expect(at(data, 'Utility.preview_email')).to.deep.equal({
      recipients: ['b@x.example'],
      cc: ['ada@example.com'],
      warnings: [
        warning('recipients[1]', 'no-at'),
        warning('options.cc[0]', 'no-at'),
        warning('options.cc[0]', 'bob@'),
      ],
      error: null,
    });
  });
});
