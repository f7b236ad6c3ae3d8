import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { STARTERS } from '../../src/api/console/starters.js';
import { ConsoleShop } from './consoleShop.js';

const EVIL = `"></textarea><script>alert('x')</script>`;
const EDIT = '/console/emails/edit';
const PREVIEW = '/console/emails/preview';
const RULE = '/console/rules/edit';
const STARTER = '/console/emails/starters/order';

describe('the console’s emails and rules', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    csrf = await browser.csrf('/console/emails');
  });
  after(() => shop.close());

  const DRAFT = {
    email_type: 'draft',
    template: '<p>{{ records.new.customer }}</p><img src="x">',
    subject: 'Order {{ records.new.order_id }}',
    recipients: 'ada@example.com',
    sender: 'shop@example.com',
    syntax: 'jinja2',
    table: 'orders',
    key: '7',
  };
  const post = async (path: string, values: Readonly<Record<string, string>>): Promise<[number, string]> => {
    const response = await browser.post(path, { csrf, ...values });
    return [response.status, await response.text()];
  };

  it('previews a draft with a row, in a frame without scripts, and saves nothing', async () => {
    const [status, html] = await post(PREVIEW, DRAFT);
    expect([status, html.includes('Order 7')], html).to.deep.equal([200, true]);
    expect(html)
      .to.match(/<iframe [^>]*srcdoc="[^"]*" sandbox>/)
      .and.include('Images without alt');
    expect(await browser.page('/console/emails')).not.to.include('type=draft');
  });

  it('sorts emails by name, subject or age, either way, and keeps the search', async () => {
    for (const [name, subject] of [
      ['b', 'X'],
      ['a', 'Z'],
      ['c', 'Y'],
    ] as const) {
      const input = {
        email_type: `sorted_${name}`,
        subject,
        template: 'x',
        sender: 'a@b.example',
        recipients: 'c@d.example',
      };
      const { errors } = await shop.fixture.control(
        shop.root,
        'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }',
        { input },
      );
      expect(errors).to.equal(undefined);
    }
    const listed = async (sort: string): Promise<readonly [string, string]> => {
      const html = await browser.page(`/console/emails?search=sorted${sort}`);
      const names = [...html.matchAll(/>sorted_(\w)<\/a>/g)].map(([, name]) => name).join('');
      const [, href, by, direction] =
        /<a href="([^"]+)" aria-current="true">(\w+)<\/a>.*?hidden">(\w+)</.exec(html) ?? [];
      expect(href).to.include('search=sorted');
      return [names, `${by} ${direction}`];
    };
    expect(await listed('')).to.deep.equal(['abc', 'Name ascending']);
    expect(await listed('&sort=name-down')).to.deep.equal(['cba', 'Name descending']);
    expect(await listed('&sort=subject')).to.deep.equal(['bca', 'Subject ascending']);
    expect(await listed('&sort=created-down')).to.deep.equal(['cab', 'Created descending']);
    expect(await listed('&sort=template')).to.deep.equal(['abc', 'Name ascending']);
    expect(await browser.page('/console/emails?search=sorted&sort=subject')).to.include(
      '<input type="hidden" name="sort" value="subject">',
    );
  });

  it('offers starters, which show their sample until a table is chosen', async () => {
    const gallery = await browser.page('/console/emails/new');
    for (const { name, input, sample } of STARTERS) {
      expect(gallery).to.include(`/console/emails/edit?starter=${name}`);
      const shown = await browser.page(`/console/emails/starters/${name}`);
      expect(shown).to.include('srcdoc="&lt;!doctype html&gt;').and.include('Your company');
      const form = await browser.page(`${EDIT}?starter=${name}`);
      expect(form).to.include(`name="starter" value="${name}"`).and.include(String(input['email_type']));
      const { errors, data } = await shop.fixture.control(
        shop.root,
        `query ($input: email_typesInput, $context: GenericScalar) { Utility { preview_email(input: $input, context: $context) {
          subject html text recipients warnings { message } error { message } } } }`,
        { input: { ...input, queries: [] }, context: sample },
      );
      expect(errors).to.equal(undefined);
      const { preview_email: email } = (
        data as { Utility: Record<string, { subject: string; html: string }> }
      ).Utility;
      expect(email).to.deep.include({ error: null, warnings: [] });
      expect(email?.html).to.match(/<meta name="color-scheme"/);
    }
    expect((await browser.get('/console/emails/starters/none')).status).to.equal(404);
    const values = { starter: 'order', subject: 'Hello {{ orders[0].customers.name }}' };
    const [status, html] = await post(PREVIEW, { ...DRAFT, ...values, table: '', key: '' });
    expect([status, html.includes('<h1>Hello Ada Lovelace</h1>')], html).to.deep.equal([200, true]);
  });

  it('lists available names and rows, even when the draft has errors', async () => {
    const queries = {
      query_0_query: '{ orders { order_id customer } }',
      query_0_outvar: 'all',
      query_1_query: '{ orders { order',
      query_1_outvar: 'unfinished',
    };
    const [, html] = await post(PREVIEW, { ...DRAFT, key: '', ...queries });
    for (const name of [
      'records.new.order_id',
      'all.customer',
      'unfinished',
      'format_currency',
      'divisibleby',
    ])
      expect(html).to.include(`<code>${name}</code>`);
    expect(html).to.include(
      '<option value="7" label="new, 12345678901234567890.50, &lt;b&gt;Ada&lt;/b&gt;">',
    );
    expect(html).to.match(/role="alert" data-field="queries"/);
  });

  it('previews the latest row by default', async () => {
    const [status, html] = await post(PREVIEW, { ...DRAFT, key: '' });
    expect([status, html.includes('<h1>Order 7</h1>')], html).to.deep.equal([200, true]);
    const rule = await browser.page(`${RULE}?type=confirmation&table=orders`);
    expect(rule)
      .to.include('value="confirmation"')
      .and.match(/name="of_orders" checked/);
    expect(await browser.page(`${EDIT}?table=orders`)).to.match(/<option selected>orders</);
    expect((await post(PREVIEW, { ...DRAFT, table: '' }))[1]).to.include('Choose a table');
  });

  it('previews an email that has no name yet, such as a duplicate', async () => {
    const [status, html] = await post(PREVIEW, { ...DRAFT, email_type: '' });
    expect([status, html.includes('Order 7')], html).to.deep.equal([200, true]);
  });

  it('says that the mailbox keeps what would go to the carrier', async () => {
    expect(await browser.page('/console/emails'))
      .to.include('Kept in the <a href="/mailbox">mailbox</a>, and not handed to SendGrid.')
      .and.not.include('Sent by');
  });

  it('leads from a test to the mailbox without losing what is not saved', async () => {
    const [status, html] = await post(EDIT, { ...DRAFT, action: 'test', to: 'me@example.com' });
    expect([status, html.includes('Sent to me@example.com.')], html).to.deep.equal([200, true]);
    expect(html).to.include('<a href="/mailbox" target="_blank">').and.include('data-unsaved="yes"');
  });

  it("allows the email's styles and images only in the frame, which has no scripts and no forms", async () => {
    const form = await browser.get(EDIT);
    expect(form.headers.get('content-security-policy')).not.to.match(/unsafe|img-src \*/);
    expect(await form.text())
      .to.match(/<button [^>]*formaction="\/console\/emails\/preview" formtarget="preview"/)
      .and.match(/<iframe [^>]*name="preview"/);
    for (const response of [await browser.get(PREVIEW), await browser.post(PREVIEW, { csrf, ...DRAFT })]) {
      expect(response.headers.get('content-security-policy'))
        .to.match(/^sandbox allow-same-origin; default-src 'none'/)
        .and.include("form-action 'none'; frame-ancestors 'self'")
        .and.not.include('script');
      expect(response.headers.get('x-frame-options')).to.equal('SAMEORIGIN');
      expect(await response.text()).not.to.include(csrf);
    }
    const [status, refused] = await post(PREVIEW, { csrf: 'x', ...DRAFT });
    expect([status, refused.includes('another session')]).to.deep.equal([403, true]);
  });

  it("refuses to overwrite a concurrent save, and keeps the form's contents", async () => {
    const opened = await browser.page(`${EDIT}?type=confirmation`);
    const version = /name="version" value="(\d+)"/.exec(opened)?.[1] ?? '';
    const mine = { ...DRAFT, email_type: 'confirmation', saved: 'confirmation', version, action: 'save' };
    expect((await post(EDIT, { ...mine, subject: 'theirs' }))[0]).to.equal(303);
    const [status, html] = await post(EDIT, { ...mine, subject: 'mine' });
    expect([status, html.includes('value="mine"')]).to.deep.equal([409, true]);
    expect(await browser.page(`${EDIT}?type=confirmation`)).to.include('value="theirs"');
    const now = /name="version" value="(\d+)"/.exec(html)?.[1] ?? '';
    expect((await post(EDIT, { ...mine, version: now, subject: 'mine' }))[0]).to.equal(303);
    const both = await Promise.all(
      ['a', 'b'].map((subject) => post(EDIT, { ...mine, version: String(Number(now) + 1), subject })),
    );
    expect(both.map(([code]) => code).sort()).to.deep.equal([303, 409]);
  });

  it("keeps the form's contents when the session ends or the permission is lost", async () => {
    const { fixture, root } = shop;
    await fixture.control(
      root,
      'mutation { create_role(input: { login: "writer", password: "secret of the clerk", capabilities: ["login", "admin"] }) { roleid } }',
    );
    const { data } = await fixture.control(root, `{ role(filter: "login = 'writer'") { roleid } }`);
    const { roleid } = (data?.['role'] as { roleid: string }[])[0]!;
    const change = (input: string): Promise<unknown> =>
      fixture.control(root, `mutation { update_role(roleid: ${roleid}, input: { ${input} }) { roleid } }`);
    const writer = await shop.signedIn('shop', 'writer');
    const form = {
      ...DRAFT,
      csrf: await writer.csrf(EDIT),
      template: '<p>a long letter</p>',
      action: 'save',
    };
    const kept = (html: string): boolean => html.includes('value="&lt;p&gt;a long letter&lt;/p&gt;"');

    await change('capabilities: ["login"]');
    const denied = await writer.post(EDIT, form);
    expect([denied.status, kept(await denied.text())]).to.deep.equal([403, true]);

    await change('capabilities: ["login", "admin"], password: "another secret of it"');
    const ended = await writer.post(EDIT, form);
    const page = await ended.text();
    expect([ended.status, kept(page), page.includes('Your session has ended.')]).to.deep.equal([
      401,
      true,
      true,
    ]);
    await writer.signIn('shop', 'writer', 'another secret of it');
    const again = await writer.post(EDIT, form);
    const html = await again.text();
    expect([again.status, kept(html)]).to.deep.equal([403, true]);
    const renewed = /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
    expect((await writer.post(EDIT, { ...form, csrf: renewed })).status).to.equal(303);
    await post(EDIT, { ...DRAFT, saved: 'draft', action: 'delete' });
    const foreign = await writer.post(EDIT, form, { 'sec-fetch-site': 'cross-site' });
    expect([foreign.status, kept(await foreign.text())]).to.deep.equal([403, false]);
  });

  it('keeps versions with author, time and changes, and restores an older one', async () => {
    expect((await post(EDIT, { ...DRAFT, email_type: 'old', action: 'save' }))[0]).to.equal(303);
    const changed = {
      ...DRAFT,
      email_type: 'old',
      saved: 'old',
      action: 'save',
      template: `<p>first</p>\n${EVIL}`,
    };
    expect((await post(EDIT, changed))[0]).to.equal(303);
    const path = '/console/emails/versions?type=old';
    const html = await browser.page(path);
    expect(html)
      .to.match(/<ins>&lt;p&gt;first/)
      .and.match(/<del>&lt;p&gt;{{ records.new.customer }}/)
      .and.include('compared with 1')
      .and.include('>root<')
      .and.include('version=1">Restore version 1…</a>')
      .and.not.include('<script>');
    expect(await browser.page(`${EDIT}?type=old&version=2`)).not.to.include('live again');
    expect(await browser.page(`${EDIT}?type=old&version=1`))
      .to.include('{{ records.new.customer }}')
      .and.include('<p class="notice warnings" role="status">This is version 1, which is not live.')
      .and.include('name="version" value="2"');
    expect((await browser.get(`${EDIT}?type=old&version=7`)).status).to.equal(404);
    expect((await (await shop.signedIn('other')).get(path)).status).to.equal(404);
    expect((await (await shop.signedIn('shop', 'clerk')).get(path)).status).to.equal(403);
    expect((await post(EDIT, { ...changed, email_type: 'renamed' }))[0]).to.equal(303);
    expect(await browser.page('/console/emails/versions?type=renamed')).to.include('compared with 2');
    expect((await post(EDIT, { ...DRAFT, saved: 'renamed', action: 'delete' }))[0]).to.equal(303);
    expect((await browser.get('/console/emails/versions?type=renamed')).status).to.equal(404);
  });

  it('does not ask for a rule of a variant, which the rules of its email send', async () => {
    const notice = 'No rule sends this email yet';
    for (const [copy, has] of [
      ['confirmation_de', false],
      ['confirmation_pt_BR', false],
      ['farewell', true],
    ] as const) {
      await shop.fixture.control(
        shop.root,
        `mutation { create_email_type(input: { email_type: "${copy}", subject: "x", sender: "shop@example.com",
          recipients: ["ada@example.com"], template: "x" }) { email_type } }`,
      );
      const page = await browser.page(`/console/emails/edit?type=${copy}`);
      expect(page.includes(notice), copy).to.equal(has);
      await shop.fixture.control(
        shop.root,
        `mutation { delete_email_type(email_type: "${copy}") { email_type } }`,
      );
    }
  });

  it('keeps drafts that are not live, including drafts of new emails', async () => {
    const [, kept] = await post(EDIT, {
      ...DRAFT,
      email_type: 'idea',
      template: '{{ not finished',
      action: 'draft',
    });
    expect(kept).to.include('The draft is kept');
    const list = await browser.page('/console/emails');
    expect(list).to.include('type=idea&amp;version=0').and.not.include('type=idea"');
    const draft = await browser.page(`${EDIT}?type=idea&version=0`);
    expect(draft).to.include('{{ not finished').and.include('name="saved" value=""');
    expect((await post(EDIT, { ...DRAFT, email_type: 'idea', action: 'save' }))[0]).to.equal(303);
    expect(await browser.page('/console/emails')).not.to.include('version=0');
    expect((await post(EDIT, { ...DRAFT, saved: 'idea', action: 'delete' }))[0]).to.equal(303);
  });

  it('says which names are missing when it is saved', async () => {
    const version =
      /name="version" value="(\d+)"/.exec(await browser.page(`${EDIT}?type=confirmation`))?.[1] ?? '';
    const wrong = {
      ...DRAFT,
      email_type: 'confirmation',
      saved: 'confirmation',
      version,
      template: '<p>\n{{ records.new.costumer }}',
    };
    const saved = await browser.post(EDIT, { csrf, ...wrong, action: 'save' });
    expect([saved.status, saved.headers.get('location')]).to.deep.equal([
      303,
      `${EDIT}?type=confirmation&done=saved&table=orders&key=7`,
    ]);
    expect(await browser.page(saved.headers.get('location') ?? ''), 'the row of the preview stays')
      .to.match(/name="key" value="7"/)
      .and.to.include('line 2, column 15: the table orders has no &#34;costumer&#34;')
      .and.include('Did you mean &#34;customer&#34;?');
    expect((await post(PREVIEW, wrong))[1]).to.include('has no &#34;costumer&#34;');
  });

  it('starts with the row of the last email, unless that was of a deleted one', async () => {
    const eventid = await shop.changeOrder(7, 'new', 'paid');
    const last = async (values: Readonly<Record<string, string>>) => {
      await shop.deliver(eventid, { state: 'sent', ...values });
      const form = await browser.page(`${EDIT}?type=confirmation`);
      return /name="key" value="([^"]*)"/.exec(form)?.[1];
    };
    expect(await last({})).to.equal('7');
    expect(await last({ operation: 'delete', key: '{"order_id": 8}' })).to.equal('');
  });

  it("shows errors next to the field, and keeps the form's contents", async () => {
    const wrong = { ...DRAFT, template: '<p>\n{{ x | nope }}' };
    expect((await post(PREVIEW, wrong))[1]).to.include('line 2');
    const [, html] = await post(EDIT, { ...wrong, action: 'save' });
    expect(html).to.include('line 2').and.include('aria-invalid="true"').and.include('{{ x | nope }}');
    const [status, refused] = await post(EDIT, { ...DRAFT, headers: '[', action: 'save' });
    expect([status, refused.includes('This is not JSON.')]).to.deep.equal([400, true]);
  });

  it('shows queries as blocks of fields, and ignores empty blocks', async () => {
    const queries = {
      query_0_outvar: 'all',
      query_0_query:
        'query ($filter: String, $limit: Int) {\r\n  orders(filter: $filter, limit: $limit) { order_id }\r\n}',
      query_0_filter: 'order_id = {{ records.new.order_id }}',
      query_0_ordering: '',
      query_0_limit: '3',
      query_1_outvar: '',
      query_2_outvar: 'more',
      query_2_query: '{ orders { order_id } }',
      query_2_ordering: 'order_id desc, status',
    };
    const type = 'with_queries';
    expect((await post(EDIT, { ...DRAFT, ...queries, email_type: type, action: 'save' }))[0]).to.equal(303);
    const { data } = await shop.fixture.control(
      shop.root,
      `{ email_types(filter: "email_type = '${type}'") { queries { outvar query filter ordering limit offset } } }`,
    );
    const [all, more] = (data as { email_types: { queries: object[] }[] }).email_types[0]!.queries;
    expect(all).to.deep.equal({
      outvar: 'all',
      query: queries.query_0_query.replaceAll('\r\n', '\n'),
      filter: queries.query_0_filter,
      ordering: null,
      limit: 3,
      offset: null,
    });
    expect(more).to.deep.include({ outvar: 'more', ordering: ['order_id desc', 'status'], limit: null });
    const form = await browser.page(`${EDIT}?type=${type}`);
    expect(form).to.include('No rule sends this email yet');
    expect(form)
      .to.match(/name="query_1_outvar" value="more"/)
      .and.match(/name="query_2_outvar" value=""/);
    const wrong = { ...queries, query_2_query: '{ nothing }', email_type: type, saved: type, action: 'save' };
    const [status, html] = await post(EDIT, { ...DRAFT, ...wrong });
    expect([status, /<textarea id="query_1_query"[^>]* aria-invalid="true">/.test(html)], html).to.deep.equal(
      [400, true],
    );
    const [refused] = await post(EDIT, { ...DRAFT, ...wrong, query_0_limit: 'many' });
    expect(refused).to.equal(400);
  });

  it('creates, changes, duplicates and deletes an email, but not one in use', async () => {
    expect((await post(EDIT, { ...DRAFT, action: 'save' }))[0]).to.equal(303);
    expect((await post(EDIT, { ...DRAFT, saved: 'draft', subject: EVIL, action: 'save' }))[0]).to.equal(303);
    for (const path of [`${EDIT}?type=draft`, `${EDIT}?copy=draft`, '/console/emails?search=draft']) {
      expect(await browser.page(path))
        .to.include('alert(')
        .and.not.include('<script>');
    }
    expect((await post(EDIT, { ...DRAFT, saved: 'draft', action: 'delete' }))[0]).to.equal(303);
    const [, html] = await post(EDIT, { ...DRAFT, saved: 'confirmation', action: 'delete' });
    expect(html).to.include('Email rules use the email type');
  });

  it('accepts a long template, and no other long form', async () => {
    const template = `<p>${'long '.repeat(20_000)}</p>`;
    const [status, html] = await post(PREVIEW, { ...DRAFT, template });
    expect([status, html.includes('Order 7')]).to.deep.equal([200, true]);
    expect((await post(RULE, { name: template }))[0]).to.equal(413);
    expect((await post(EDIT, { ...DRAFT, template: 'x'.repeat(2_100_000) }))[0]).to.equal(413);
  });

  it('leads to the carriers where none is set', async () => {
    const other = await shop.signedIn('other');
    expect(await other.page('/console/emails')).to.include('<a href="/console/sending">Set a carrier</a>');
    const values = { ...DRAFT, csrf: await other.csrf(EDIT), table: '', key: '', role: '', action: 'save' };
    const response = await other.post(EDIT, values);
    expect(response.status).to.equal(409);
    expect(await response.text())
      .to.include('<a href="/console/sending">Set a carrier</a>')
      .and.not.include('set_email_apikey');
  });

  it('creates, changes and deletes a rule', async () => {
    const rule = {
      name: EVIL,
      of_orders: 'on',
      on_update: 'on',
      condition: "new.status = 'sent'",
      email_type: 'confirmation',
      query_roleid: String((await shop.fixture.signIn(shop.tenantid)).roleid),
      delivery: 'at_least_once',
    };
    const saved = await browser.post(RULE, { csrf, ...rule });
    expect([saved.status, saved.headers.get('location')]).to.deep.equal([303, '/console/rules?done=saved']);
    const list = await browser.page('/console/rules?done=saved');
    expect(list)
      .to.include('role="status">Saved.')
      .and.include('When rows of orders are changed, only if <code>new.status = &#39;sent&#39;</code>');
    expect(list).to.include('disabled').and.not.include('<script>');
    const [status, html] = await post(RULE, { ...rule, id: shop.ruleid, condition: 'new.nothing = 1' });
    expect([status, html.includes('nothing')], html).to.deep.equal([400, true]);
    expect(html)
      .to.include('<a href="#condition">Only if</a>')
      .and.include('There is already a rule with this name.')
      .and.match(/name="of_orders" checked/)
      .and.match(/<option value="\d+" selected>root \(\d+\)</);
    expect((await post(RULE, { ...rule, name: 'other', id: shop.ruleid, action: 'delete' }))[0]).to.equal(
      303,
    );
  });

  it('reports all that is wrong with a rule or an email at once, in the words of the form', async () => {
    const [status, html] = await post(RULE, { of_orders: 'on', condition: 'new.nothing = 1', name: '' });
    expect(status).to.equal(400);
    for (const text of [
      'Please correct these:',
      '<a href="#name">Name</a>: Give the rule a name.',
      '<a href="#operations">are</a>: Choose what happens to a row.',
      '<a href="#email_type">Send</a>: Choose the email to send.',
      '<a href="#query_roleid">Read data as</a>: Choose whose rights the email reads with.',
      '<a href="#condition">Only if</a>: ',
      'nothing',
      'data-unsaved="yes"',
    ])
      expect(html, text).to.include(text);
    expect(html).not.to.match(/is missing|query_roleid must|<script>alert/);
    const [unknown, more] = await post(RULE, {
      name: 'all unknown',
      of_orders: 'on',
      of_nowhere: 'on',
      on_insert: 'on',
      condition: 'new.status = ',
      email_type: EVIL,
      query_roleid: '424242',
    });
    expect(unknown).to.be.within(400, 499);
    for (const id of ['targets', 'condition', 'email_type', 'query_roleid'])
      expect(more, id).to.include(`<a href="#${id}">`);
    expect(more).not.to.include('<script>alert');
    const [, email] = await post(EDIT, { action: 'save', template: 'x', sender: '' });
    for (const text of ['Give the email a name.', 'Write a subject.', 'Say who gets it.', 'Say who sends it'])
      expect(email, text).to.include(text);
    const [, test] = await post(EDIT, { ...DRAFT, action: 'test', to: 'nobody' });
    expect(test).to.include('Enter one address for the test.').and.not.include('to must be');
  });

  it('previews and tests an email whose row has no valid address', async () => {
    const draft = { ...DRAFT, recipients: 'Zoe Bad <zoe at example>' };
    for (const unsubscribe of ['none', 'type']) {
      const [status, html] = await post(PREVIEW, { ...draft, unsubscribe });
      expect(status).to.equal(200);
      expect(html)
        .to.match(/role="alert" data-field="recipients"/)
        .and.include('zoe at example')
        .and.include('<h1>Order 7</h1>')
        .and.match(/<iframe [^>]*srcdoc="[^"]*Ada[^"]*" sandbox>/);
    }
    const order = await shop.changeOrder(7, 'new', 'paid');
    const held = await shop.deliver(order, { state: 'skipped', error_code: 'NO_VALID_RECIPIENT' });
    await shop.fixture.control(
      shop.root,
      'mutation { update_email_type(email_type: "confirmation", input: { recipients: ["zoe at example"] }) { version } }',
    );
    const preview = await browser.page(`/console/deliveries/${held}/email`);
    expect(preview).to.include('NO_VALID_RECIPIENT').and.include('<iframe class="email"');
  });

  it('rejects other sessions’ forms and other roles, and shows nothing of other tenants', async () => {
    for (const path of [EDIT, PREVIEW, RULE]) {
      expect((await browser.post(path, { ...DRAFT, csrf: 'x' })).status).to.equal(403);
    }
    const clerk = await shop.signedIn('shop', 'clerk');
    for (const path of ['/console/emails', '/console/emails/new', EDIT, '/console/rules', RULE, STARTER]) {
      expect((await clerk.get(path)).status, path).to.equal(403);
    }
    const other = await shop.signedIn('other');
    expect((await other.get(`${EDIT}?type=confirmation`)).status).to.equal(404);
    expect((await other.get(`${RULE}?id=${shop.ruleid}`)).status).to.equal(404);
  });
});
