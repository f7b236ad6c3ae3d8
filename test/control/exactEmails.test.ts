import { expect } from 'chai';
import { checkEvents } from '../../src/email/carriers/reports/events.js';
import { AT_ONCE } from '../../src/api/http/readFields.js';
import { reports } from '../../src/email/carriers/sendgrid/reports.js';
import { Reporter } from '../delivery/webhook.js';
import { pipelineConfig, startPipeline } from '../delivery/pipelineSetup.js';
import { ExactSite, WAYS } from '../graphql/support/exactRequests.js';
import { partOf, startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { waitFor } from '../support/waitFor.js';

const ODD = '9007199254740993';
const LONG = '12345678901234567890.1234567891';
const DDL = `
  create table big_key (id bigint primary key, note text, n numeric, j json);
  create table pair_key (a bigint, b numeric, note text, primary key (a, b));
  insert into big_key values (9007199254740992, 'even', 10.00, '9007199254740992'),
    (${ODD}, 'odd', ${LONG}, '{"deep":[${ODD},10.00]}');
  insert into pair_key values (${ODD}, ${LONG}, 'odd'), (9007199254740992, ${LONG}, 'even');
`;
const QUERY = 'query ($filter: String) { big_key(filter: $filter) { id n j } }';
const TEMPLATE =
  '{{ records.new.id }} {{ records.new.note }} {{ records.new.n }} {{ records.new.j.deep[0] }} {{ rows[0].id }} {{ rows[0].n }}';
const HTML = `${ODD} odd ${LONG} ${ODD} ${ODD} ${LONG}`;
const PREVIEW = `query ($type: ID!, $target: String, $key: GenericScalar, $context: GenericScalar) { Utility {
  preview_email(email_type: $type, target: $target, key: $key, context: $context) {
    html queries { result } error { message } } } }`;

describe('exact numbers in emails', () => {
  let site: ExactSite;
  let control: ExactSite;
  let provider: FakeProvider;
  before(async () => {
    provider = await startFakeProvider();
    site = await ExactSite.open(DDL, { MAIL_TRANSPORT: 'sendgrid', SENDGRID_BASE_URL: provider.url });
    control = site.at('/roles_pbac');
    await must('mutation { set_email_apikey(apikey: "SG.exact") { apikey } }');
    const shared = 'recipients: ["a@example.com"], sender: "s@example.com"';
    await must(`mutation { create_email_type(input: { email_type: "row", subject: "{{ records.new.note }}",
      template: "${TEMPLATE}", queries: [{ query: "${QUERY}", filter: "id = {{ records.new.id }}", outvar: "rows" }], ${shared} }) { email_type } }`);
    await must(`mutation { create_email_type(input: { email_type: "plain", subject: "S",
      template: "{{ records.new.id }} {{ more.deep[0] if more }} {{ records.new.note }}", ${shared} }) { email_type } }`);
  });
  after(async () => {
    await site.close();
    await provider.stop();
  });

  async function must(query: string, variables?: string): Promise<string> {
    const { body } = await control.ask(query, variables);
    expect(body).to.not.contain('"errors"');
    return body;
  }
  const preview = (variables: string, way?: string) => control.ask(PREVIEW, variables, way);

  for (const way of Object.keys(WAYS)) {
    it(`preview_email shows the row with the key sent ${way}`, async () => {
      for (const key of [ODD, `"${ODD}"`, `{"id":${ODD}}`, `${ODD}.0`]) {
        const { body } = await preview(`{"type":"row","target":"big_key","key":${key}}`, way);
        expect(body).to.contain(HTML);
        expect(body).to.contain(`[{"id":"${ODD}","n":${LONG},"j":{"deep":[${ODD},10.00]}}]`);
      }
      const pair = `{"type":"plain","target":"pair_key","key":{"a":${ODD},"b":${LONG}}}`;
      expect((await preview(pair, way)).body).to.contain(' odd"');
    });
  }

  it('preview_email accepts the key as a literal and by GET, and refuses an impossible one', async () => {
    const literal = `{ Utility { preview_email(email_type: "row", target: "big_key", key: { id: ${ODD} }) { html } } }`;
    expect((await control.ask(literal)).body).to.contain(HTML);
    expect((await control.get(literal.replace(`{ id: ${ODD} }`, ODD))).body).to.contain(HTML);
    const none = await preview('{"type":"row","target":"big_key","key":9223372036854775808}');
    expect(none.body).to.contain('"errors"').and.to.not.contain('even');
  });

  it('a given context reaches the template with all digits', async () => {
    const { body } = await preview(
      `{"type":"plain","context":{"records":{"new":{"id":${ODD},"note":"n"}},"more":{"deep":[12345678901234567891]}}}`,
    );
    expect(body).to.contain(`${ODD} 12345678901234567891 n`);
    const notOne = await preview('{"type":"plain","context":9007199254740993}');
    expect(notOne.body).to.contain('context must be an object');
  });

  it('send_test_email sends the row of the key', async () => {
    const sent = await must(
      `mutation ($key: GenericScalar) { Utility { send_test_email(email_type: "row", target: "big_key", key: $key, to: "t@example.com") { sent error { message } } } }`,
      `{"key":${ODD}}`,
    );
    expect(sent).to.contain('"sent":true');
    const { body } = provider.calls.at(-1)!;
    expect([body.subject, partOf(body)]).to.deep.equal(['[Test] odd', HTML]);
  });

  it('a change fires the rule whose condition matches its number; email and ledger keep every digit', async () => {
    await must(`mutation { create_email_rule(input: { name: "odd", email_type: "row", operations: ["update"], targets: ["big_key"],
      query_roleid: ${await rootRole()}, condition: "new.id = ${ODD} and new.n = ${LONG} and old.n = ${LONG}" }) { ruleid } }`);
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url });
    const { engine, templates, principals, testDatabase } = site.fixture;
    const pipeline = await startPipeline(testDatabase.database, config, { engine, templates, principals });
    try {
      const before = provider.calls.length;
      const update = 'mutation ($id: ID!) { update_big_key(id: $id, input: { note: "odd" }) { id } }';
      for (const id of ['9007199254740992', ODD]) await site.ask(update, `{"id":${id}}`);
      await waitFor('the email', () => provider.calls.length > before);
      expect(partOf(provider.calls[before]!.body)).to.equal(HTML);
      const list = '{ email_delivery { deliveryid key state } }';
      await waitFor('the ledger', async () => (await control.ask(list)).body.includes('"sent"'));
      const { body } = await control.ask(list);
      expect(body).to.contain(`"key":{"id":${ODD}}`);
      const id = /"deliveryid":"(\d+)"/.exec(body)?.[1] ?? '';
      expect((await control.get(`{ email_delivery(filter: "deliveryid = ${id}") { key } }`)).body).to.equal(
        `{"data":{"email_delivery":[{"key":{"id":${ODD}}}]}}`,
      );
      const again = await must(
        `mutation { Utility { redrive_email_delivery(deliveryid: ${id}) { deliveryid key } } }`,
      );
      expect(again).to.contain(`"deliveryid":"${id}","key":{"id":${ODD}}`);
    } finally {
      await pipeline.stop();
    }
  });

  it('a webhook event may name its delivery by a number beyond double precision', async () => {
    const now = Date.UTC(2026, 0, 1);
    const seconds = now / 1000 - 60;
    const report = `[{"event":"delivered","deliveryid":900719925474099301,"tenantid":7,"sg_event_id":"e","timestamp":${seconds}.0}]`;
    const reporter = new Reporter();
    const signed = {
      headers: reporter.sign(report, seconds),
      body: Buffer.from(report),
      tenantid: 7,
      nowMs: now,
      inTurn: () => AT_ONCE,
    };
    const sendgrid = reports.open({});
    const verified = await sendgrid.verify(signed, reporter.verificationKey);
    const { items, reportId } = verified!;
    const given = items.flatMap((item) => sendgrid.read(item, { reportId, tenantid: 7 }));
    const { events } = checkEvents(given, 7, now);
    expect(events.map(({ deliveryid, time }) => [deliveryid, time])).to.deep.equal([
      ['900719925474099301', new Date(seconds * 1000).toISOString()],
    ]);
  });

  async function rootRole(): Promise<string> {
    const [roleid] = await site.texts(
      "select roleid::text from rowpost.role where tenantid = $1 and login = 'root'",
      [site.tenantid],
    );
    return roleid ?? '';
  }
});
