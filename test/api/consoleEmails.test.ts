import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';

const EVIL = `"></textarea><script>alert('x')</script>`;
const EDIT = '/console/emails/edit';
const RULE = '/console/rules/edit';

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
    const answer = await browser.post(path, { csrf, ...values });
    return [answer.status, await answer.text()];
  };

  it('previews a draft with a row, in a frame without scripts, and saves nothing', async () => {
    const [status, html] = await post(EDIT, { ...DRAFT, action: 'preview' });
    expect([status, html.includes('Order 7')], html).to.deep.equal([200, true]);
    expect(html)
      .to.match(/<iframe [^>]*srcdoc="[^"]*" sandbox>/)
      .and.include('Images without alt');
    expect(await browser.page('/console/emails')).not.to.include('type=draft');
  });

  it('says in place what is wrong, and keeps what was written', async () => {
    const [, html] = await post(EDIT, { ...DRAFT, template: '<p>\n{{ x | nope }}', action: 'preview' });
    expect(html).to.include('line 2').and.include('aria-invalid="true"').and.include('{{ x | nope }}');
    const [status, refused] = await post(EDIT, { ...DRAFT, queries: '[', action: 'save' });
    expect([status, refused.includes('This is not JSON.')]).to.deep.equal([400, true]);
  });

  it('creates, changes, duplicates and deletes an email, but not one in use', async () => {
    expect((await post(EDIT, { ...DRAFT, action: 'save' }))[0]).to.equal(303);
    expect((await post(EDIT, { ...DRAFT, saved: 'draft', subject: EVIL, action: 'save' }))[0]).to.equal(303);
    for (const path of [`${EDIT}?type=draft`, `${EDIT}?copy=draft`, '/console/emails?search=draft']) {
      expect(await browser.page(path))
        .to.include('alert(')
        .and.not.include('<script');
    }
    expect((await post(EDIT, { ...DRAFT, saved: 'draft', action: 'delete' }))[0]).to.equal(303);
    const [, html] = await post(EDIT, { ...DRAFT, saved: 'confirmation', action: 'delete' });
    expect(html).to.include('Email rules use the email type');
  });

  it('takes a long template, and no other long form', async () => {
    const template = `<p>${'long '.repeat(20_000)}</p>`;
    const [status, html] = await post(EDIT, { ...DRAFT, template, action: 'preview' });
    expect([status, html.includes('Order 7')]).to.deep.equal([200, true]);
    expect((await post(RULE, { name: template }))[0]).to.equal(413);
    expect((await post(EDIT, { ...DRAFT, template: 'x'.repeat(2_100_000) }))[0]).to.equal(413);
  });

  it('creates, changes and deletes a rule', async () => {
    const rule = {
      name: EVIL,
      targets: 'orders',
      on_update: 'on',
      condition: "new.status = 'sent'",
      email_type: 'confirmation',
      query_roleid: String((await shop.fixture.signIn(shop.tenantid)).roleid),
      delivery: 'at_least_once',
    };
    expect((await post(RULE, rule))[0]).to.equal(303);
    const list = await browser.page('/console/rules');
    expect(list).to.include('disabled').and.not.include('<script');
    const [status, html] = await post(RULE, { ...rule, id: shop.ruleid, condition: 'new.nothing = 1' });
    expect([status, html.includes('nothing')], html).to.deep.equal([400, true]);
    expect((await post(RULE, { ...rule, name: 'other', id: shop.ruleid, action: 'delete' }))[0]).to.equal(
      303,
    );
  });

  it('refuses other sessions’ forms, other roles, and shows nothing of other tenants', async () => {
    for (const path of [EDIT, RULE]) {
      expect((await browser.post(path, { ...DRAFT, csrf: 'x' })).status).to.equal(403);
    }
    const clerk = await shop.signedIn('shop', 'clerk');
    for (const path of ['/console/emails', EDIT, '/console/rules', RULE]) {
      expect((await clerk.get(path)).status, path).to.equal(403);
    }
    const other = await shop.signedIn('other');
    expect((await other.get(`${EDIT}?type=confirmation`)).status).to.equal(404);
    expect((await other.get(`${RULE}?id=${shop.ruleid}`)).status).to.equal(404);
  });
});
