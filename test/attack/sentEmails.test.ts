import { expect } from 'chai';
import { ConsoleBrowser } from '../api/consoleBrowser.js';
import { ConsoleShop } from '../api/consoleShop.js';
import { at, ROOT_LOGIN } from '../api/webFixture.js';
import { knexOf } from '../support/knexOf.js';

const EVIL = `"><img src=x onerror=alert(1)><script>alert('x')</script>{{ 7 | times: 7 }}`;

/** An email says what its receiver alone may know, and its author may be whoever fills in a form. */
describe('attack: stored emails', () => {
  let shop: ConsoleShop;
  let delivery: string;

  before(async () => {
    shop = await ConsoleShop.open();
    const order = await shop.changeOrder(7, 'new', 'paid');
    delivery = await shop.deliver(order, { state: 'sent', subject: EVIL });
    await shop.attempt(delivery, { attempt: 1, outcome: 'retry', carrier: EVIL, error: EVIL });
    await shop.attempt(delivery, { attempt: 2, outcome: 'sent', carrier: 'smtp' });
    for (const attempt of [1, 2]) {
      await shop.keepEmail(delivery, attempt, {
        sender: { name: EVIL, email: 'shop@example.com' },
        recipients: [{ name: EVIL, email: 'ada@example.com' }],
        cc: [{ name: EVIL, email: 'cc@example.com' }],
        bcc: [{ name: EVIL, email: 'bcc@example.com' }],
        replyTo: [{ name: EVIL, email: 'reply@example.com' }],
        subject: EVIL,
        html: `<p>attempt ${attempt}</p>${EVIL}`,
        text: `</pre>${EVIL}`,
        headers: { 'X-Evil': EVIL },
        categories: [EVIL],
        attachments: [{ filename: EVIL, mimetype: EVIL, size: 7, objectkey: 'secret-object-key' }],
      });
    }
  });
  after(() => shop.close());

  const paths = (): string[] =>
    ['', '?attempt=1', '?attempt=2'].flatMap((query) => [
      `/console/deliveries/${delivery}/sent${query}`,
      `/console/deliveries/${delivery}/sent/body${query}`,
    ]);

  it('escape everything around the frame, which runs no scripts', async () => {
    const browser = await shop.signedIn();
    expect(await browser.page(`/console/deliveries/${delivery}`)).to.include('The email as it was sent');
    for (const path of paths()) {
      const response = await browser.get(path);
      const [html, policy] = [await response.text(), response.headers.get('content-security-policy') ?? ''];
      expect(response.status, path).to.equal(200);
      expect(response.headers.get('cache-control'), path).to.include('no-store');
      if (path.includes('/body')) {
        expect(policy)
          .to.match(/^sandbox; default-src 'none'/)
          .and.not.include('script');
        expect(html).to.include(path.includes('attempt=1') ? 'attempt 1' : 'attempt 2');
      } else {
        expect(html, path).not.to.match(/<img|<script>|&gt;49|<\/pre>"/i);
        expect(html)
          .to.include('sandbox></iframe>')
          .and.include('X-Evil')
          .and.not.include('secret-object-key');
      }
    }
  });

  it('are for admins of their tenant only, in the console and GraphQL', async () => {
    const { fixture, tenantid } = shop;
    for (const [tenant, login, status] of [
      ['shop', 'viewer', 403],
      ['shop', 'clerk', 403],
      ['other', ROOT_LOGIN, 404],
    ] as const) {
      const browser = await shop.signedIn(tenant, login);
      for (const path of paths())
        expect((await browser.get(path)).status, `${tenant}, ${login}, ${path}`).to.equal(status);
    }
    for (const path of paths()) {
      const client = await new ConsoleBrowser(fixture).get(path);
      expect([client.status, client.headers.get('location')?.startsWith('/console/sign-in')]).to.deep.equal([
        303,
        true,
      ]);
    }
    const ask =
      'query ($id: ID!) { Utility { sent_mail(deliveryid: $id) { attempt html attachments { filename } } } }';
    const shown = await fixture.control(shop.root, ask, { id: delivery });
    expect(at(shown.data, 'Utility.sent_mail.attempt')).to.equal(2);
    const { access_token } = await fixture.signIn(tenantid, 'viewer', 'secret of the clerk');
    const refused = await fixture.control(access_token, ask, { id: delivery });
    expect(refused.errors?.[0]?.extensions.code).to.equal('PERMISSION_DENIED');
  });

  it('that are missing or can’t be decrypted are not found', async () => {
    const browser = await shop.signedIn();
    for (const path of [`${delivery}/sent?attempt=3`, '9223372036854775807/sent', '9999999999999999999/sent'])
      expect((await browser.get(`/console/deliveries/${path}`)).status, path).to.be.oneOf([400, 404]);
    const knex = knexOf(shop.fixture.testDatabase.database);
    await knex.raw('update rowpost.sent_mail set attempt = 5 where deliveryid = ? and attempt = 2', [
      delivery,
    ]);
    expect((await browser.get(`/console/deliveries/${delivery}/sent`)).status).to.equal(404);
    expect((await browser.get(`/console/deliveries/${delivery}`)).status).to.equal(200);
  });
});
