import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';
import { startFakeProvider, type FakeProvider, type ReceivedCall } from '../support/fakeProvider.js';
import { waitFor } from '../support/waitFor.js';
import { pipelineConfig, startPipeline, writeEvents, type Pipeline } from './pipelineSetup.js';
import { insertSentDeliveries, Reporter, sendgridEvent } from './webhook.js';

const ONE_CLICK = 'List-Unsubscribe=One-Click';
const LIST = '{ email_unsubscribe(ordering: "address") { address email_types all_types source } }';
/** Each email is of a table of its own. */
const TABLES = Array.from({ length: 20 }, (_, i) => `create table table_${i + 1} (id int primary key);`).join(
  '',
);
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

describe('unsubscribing', () => {
  let fixture: WebFixture;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  let tenant: CreatedTenant;
  let root: string;
  let target = '';
  let tables = 0;
  const reporter = new Reporter();

  before(async () => {
    provider = await startFakeProvider();
    fixture = await WebFixture.start();
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url });
    pipeline = await startPipeline(fixture.testDatabase.database, config, {
      engine: fixture.engine,
      templates: fixture.templates,
    });
    tenant = await fixture.createTenant('Side <Shop>', TABLES);
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await control(
      `mutation ($key: String) { set_email_apikey(apikey: "SG.key") { apikey }
        Utility { set_email_webhook_key(verification_key: $key) { url } } }`,
      { key: reporter.verificationKey },
    );
    await createType('news', { unsubscribe: 'type' });
    await createType('offers', { unsubscribe: 'all' });
    await createType('receipt', {});
  });
  beforeEach(async () => {
    target = `table_${++tables}`;
    await fixture.testDatabase.database.pool.query('delete from rowpost.email_unsubscribe');
  });
  after(async () => {
    await pipeline.stop();
    await fixture.stop();
    await provider.stop();
  });

  const tryControl = (query: string, variables: Json = {}): Promise<GraphqlResult> =>
    fixture.control(root, query, variables);
  async function control(query: string, variables: Json = {}): Promise<GraphqlResult> {
    const result = await tryControl(query, variables);
    expect(result.errors).to.equal(undefined);
    return result;
  }
  async function createType(name: string, changes: Json): Promise<void> {
    const input = {
      email_type: name,
      subject: 'S',
      sender: 'shop@example.com',
      recipients: ['{{ records.new.email }}'],
      template: '<p>Hello</p><a href="{{ unsubscribe_url }}">No more</a>',
      ...changes,
    };
    await control('mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }', {
      input,
    });
  }
  const list = async (): Promise<Json[]> => at(await control(LIST), 'data.email_unsubscribe') as Json[];

  /** Fires a rule of the type. @returns the end of the delivery, and what the provider got */
  async function send(
    emailType: string,
    recipient: string,
  ): Promise<Json & { readonly email?: ReceivedCall }> {
    const { database } = fixture.testDatabase;
    const roleid = tenant.rootRoleid;
    await control('mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }', {
      input: {
        name: target,
        operations: ['insert'],
        targets: [target],
        email_type: emailType,
        query_roleid: roleid,
      },
    });
    await writeEvents(database, { tenantid: tenant.tenantid, roleid, apiKey: 'SG.key' }, 1, {
      target,
      new: { email: recipient },
    });
    const delivery = await waitFor('the end of the delivery', async () => {
      const { rows } = await database.pool.query<Json>(
        `select deliveryid::text as deliveryid, state, error_code, error from rowpost.email_delivery
         where target = $1 and state in ('sent', 'failed', 'skipped')`,
        [target],
      );
      return rows[0];
    });
    const email = provider.calls.find(({ deliveryid }) => deliveryid === delivery['deliveryid']);
    return { ...delivery, ...(email ? { email } : {}) };
  }
  const urlIn = (email: ReceivedCall | undefined): string =>
    /^<(.*)>$/.exec(email?.body.headers?.['List-Unsubscribe'] ?? '')?.[1] ?? '';
  const pathOf = (url: string): string => new URL(url).pathname;
  const post = (url: string, body: string): Promise<Response> =>
    fixture.fetch(pathOf(url), { method: 'POST', headers: FORM, body });

  it('is offered by two headers and a link, of email that is meant to', async () => {
    const { email } = await send('news', 'Ada@example.com');
    const url = urlIn(email);
    expect(url).to.match(/^http:\/\/localhost:8080\/unsubscribe\/[\w-]{60,}$/);
    expect(url).not.to.match(/ada/i);
    expect(email?.body.headers?.['List-Unsubscribe-Post']).to.equal(ONE_CLICK);
    const [text, page] = email?.body.content.map(({ value }) => value) ?? [];
    expect(page).to.contain(`<a href="${url}">`);
    expect(text).to.contain(url);
    target = `table_${++tables}`;
    const receipt = await send('receipt', 'ada@example.com');
    expect(receipt.email?.body.headers).not.to.have.property('List-Unsubscribe');
    expect(receipt.email?.body.content[1]?.value).to.contain('<a href="">');
  });

  it('takes one click, answered with 200 each time; GET changes nothing', async () => {
    const url = urlIn((await send('news', 'ada@example.com')).email);
    const shown = await fixture.fetch(pathOf(url));
    expect(shown.status).to.equal(200);
    expect(shown.headers.get('content-security-policy')).to.match(
      /default-src 'none'.*frame-ancestors 'none'/,
    );
    expect(await shown.text())
      .to.contain('Side &lt;Shop&gt;')
      .and.to.contain('Unsubscribe from “news”');
    expect(await list()).to.deep.equal([]);
    for (const body of [ONE_CLICK, ONE_CLICK]) {
      const response = await post(url, body);
      expect([response.status, response.headers.get('set-cookie')]).to.deep.equal([200, null]);
    }
    expect(await list()).to.deep.equal([
      { address: 'ada@example.com', email_types: ['news'], all_types: false, source: 'link' },
    ]);
    const form = new FormData();
    form.set('List-Unsubscribe', 'One-Click');
    expect((await fixture.fetch(pathOf(url), { method: 'POST', body: form })).status).to.equal(200);

    target = `table_${++tables}`;
    expect(await send('news', 'ADA@example.com')).to.include({
      state: 'skipped',
      error_code: 'UNSUBSCRIBED',
      error: 'every recipient has unsubscribed: ADA@example.com',
    });
    for (const [type, email] of [
      ['offers', 'ada@example.com'],
      ['receipt', 'ada@example.com'],
      ['news', 'bob@example.com'],
    ] as const) {
      target = `table_${++tables}`;
      expect(await send(type, email), type).to.include({ state: 'sent' });
    }
  });

  // RFC 8058 has one body, of two types. Mailboxes and their proxies also send others, or none.
  const CLICKS: readonly (readonly [type: string | undefined, body: string | undefined])[] = [
    ['application/x-www-form-urlencoded', ONE_CLICK],
    ['application/x-www-form-urlencoded', `${ONE_CLICK}\r\n`],
    ['application/x-www-form-urlencoded', `${ONE_CLICK}\n`],
    ['application/x-www-form-urlencoded', ''],
    ['application/x-www-form-urlencoded', 'list-unsubscribe=one-click'],
    ['application/x-www-form-urlencoded', '%ff%'],
    ['application/x-www-form-urlencoded; charset=iso-8859-1', ONE_CLICK],
    ['APPLICATION/X-WWW-FORM-URLENCODED;charset=UTF-8', ONE_CLICK],
    ['text/plain', ONE_CLICK],
    ['text/plain; charset=us-ascii', ''],
    ['application/json', '{"List-Unsubscribe": "One-Click"}'],
    ['application/json', '{'],
    [
      'multipart/form-data; boundary=x',
      '--x\r\ncontent-disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
    ],
    ['multipart/form-data', ''],
    ['application/octet-stream', '\0\x01'],
    ['not a type', 'x'],
    [undefined, undefined],
    [undefined, ONE_CLICK],
  ];

  it('takes one click of any type and body', async () => {
    const url = urlIn((await send('news', 'ada@example.com')).email);
    for (const [type, body] of CLICKS) {
      const shown = JSON.stringify([type, body]);
      await fixture.testDatabase.database.pool.query('delete from rowpost.email_unsubscribe');
      const { status } = await fixture.fetch(pathOf(url), {
        method: 'POST',
        // A string would be given a type.
        ...(body === undefined ? {} : { body: new TextEncoder().encode(body) }),
        ...(type === undefined ? {} : { headers: { 'content-type': type } }),
      });
      expect(status, shown).to.equal(200);
      expect(await list(), shown).to.deep.equal([
        { address: 'ada@example.com', email_types: ['news'], all_types: false, source: 'link' },
      ]);
    }
    await post(url, 'choice=subscribe\r\n');
    expect(await list()).to.deep.equal([]);
    expect((await post(url, `x=${'x'.repeat(5_000)}`)).status).to.equal(413);
    expect((await post(`${url.slice(0, -5)}AAAAA`, ONE_CLICK)).status).to.equal(404);
    expect(await list()).to.deep.equal([]);
  });

  it('from all leaves out what has a link, and nothing else; both are taken back on the page', async () => {
    const url = urlIn((await send('offers', 'ada@example.com')).email);
    expect(await (await post(url, ONE_CLICK)).text()).to.contain(
      'You have unsubscribed from all email from Side &lt;Shop&gt;',
    );
    for (const [type, state] of [
      ['news', 'skipped'],
      ['offers', 'skipped'],
      ['receipt', 'sent'],
    ] as const) {
      target = `table_${++tables}`;
      expect(await send(type, 'ada@example.com'), type).to.include({ state });
    }
    expect(await (await post(url, 'choice=subscribe')).text()).to.contain('Unsubscribe from “offers”');
    expect(await list()).to.deep.equal([]);
    await post(url, 'choice=type');
    expect(at(await list(), '0.email_types')).to.deep.equal(['offers']);
    await post(url, 'choice=all');
    expect(at(await list(), '0')).to.include({ all_types: true, source: 'link' });
  });

  it('of a type that has another name by now is from all of it, and what was unsubscribed follows the name', async () => {
    await createType('old_name', { unsubscribe: 'type' });
    const url = urlIn((await send('old_name', 'ada@example.com')).email);
    target = `table_${++tables}`;
    const early = urlIn((await send('old_name', 'bob@example.com')).email);
    await post(early, ONE_CLICK);
    // One that rules use keeps its name.
    await fixture.testDatabase.database.pool.query(
      `delete from rowpost.email_rule where email_type = 'old_name'`,
    );
    await control(
      'mutation { update_email_type(email_type: "old_name", input: {email_type: "new_name"}) { email_type } }',
    );
    await post(url, ONE_CLICK);
    expect(await list()).to.deep.equal([
      { address: 'ada@example.com', email_types: [], all_types: true, source: 'link' },
      { address: 'bob@example.com', email_types: ['new_name'], all_types: false, source: 'link' },
    ]);
  });

  it('needs one recipient: more are refused when saved, and fail when they are rendered', async () => {
    const two = await tryControl(
      'mutation ($input: email_typesInput) { update_email_type(email_type: "news", input: $input) { email_type } }',
      { input: { recipients: ['a@example.com', 'b@example.com'] } },
    );
    expect(two.errors?.[0]?.extensions).to.include({ code: 'BAD_USER_INPUT', field: 'recipients' });
    expect(await send('news', 'a@example.com, b@example.com')).to.include({
      state: 'failed',
      error_code: 'UNSUBSCRIBE_RECIPIENTS',
    });
  });

  it('is known of the lists of the carrier too, once for each report', async () => {
    const { database } = fixture.testDatabase;
    const [deliveryid] = await insertSentDeliveries(database, tenant.tenantid, 1);
    const event = sendgridEvent({
      event: 'group_unsubscribe',
      deliveryid: deliveryid!,
      email: 'Cy@example.com',
    });
    const report = async (): Promise<void> => {
      const body = JSON.stringify([event]);
      const path = `/events/sendgrid/${tenant.tenantid}`;
      const response = await fixture.fetch(path, { method: 'POST', headers: reporter.sign(body), body });
      expect(response.status).to.equal(204);
    };
    await report();
    expect(await list()).to.deep.equal([
      { address: 'cy@example.com', email_types: [], all_types: true, source: 'carrier' },
    ]);
    await control('mutation { delete_email_unsubscribe(address: "CY@example.com") { address } }');
    await report();
    expect(await list(), 'a report that is repeated').to.deep.equal([]);
    const { rows } = await database.pool.query(
      `select event from rowpost.email_event where deliveryid = $1 order by event`,
      [deliveryid],
    );
    expect(rows).to.deep.equal([{ event: 'group_unsubscribe' }]);
  });

  it('can be brought from elsewhere', async () => {
    const create = `mutation ($input: email_unsubscribeInput) { create_email_unsubscribe(input: $input) {
      address email_types all_types source } }`;
    const bring = (input: Json): Promise<GraphqlResult> => tryControl(create, { input });
    expect((await bring({ address: 'a@example.com' })).errors?.[0]?.extensions['field']).to.equal(
      'email_types',
    );
    expect((await bring({ address: 'no', all_types: true })).errors?.[0]?.extensions['field']).to.equal(
      'address',
    );
    await bring({ address: 'A@example.com', email_types: ['news'] });
    const made = await bring({ address: 'a@example.com', email_types: ['offers', 'news'] });
    expect(at(made, 'data.create_email_unsubscribe.address')).to.equal('a@example.com');
    const [listed] = await list();
    expect(new Set(listed?.['email_types'] as string[])).to.deep.equal(new Set(['news', 'offers']));
    expect(listed).to.include({ source: 'manual', all_types: false });
  });

  it('is offered by previews and test emails without unsubscribing the recipient of the row', async () => {
    const preview = await control(
      `{ Utility { preview_email(email_type: "news", context: {records: {new: {email: "ada@example.com"}}}) {
        html headers error { code } } } }`,
    );
    const html = String(at(preview, 'data.Utility.preview_email.html'));
    const url = /href="([^"]*)"/.exec(html)?.[1] ?? '';
    expect(url).to.equal('http://localhost:8080/unsubscribe/preview');
    const responses = [await fixture.fetch(pathOf(url)), await post(url, ONE_CLICK)];
    for (const response of responses) {
      expect(response.status).to.equal(200);
      expect(await response.text()).to.contain('a preview or a test');
    }
    expect(await list()).to.deep.equal([]);
  });
});
