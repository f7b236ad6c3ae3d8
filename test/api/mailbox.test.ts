import { request } from 'node:http';
import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { ConsoleBrowser } from './consoleBrowser.js';
import { PXADMIN_PASSWORD, ROOT_LOGIN, ROOT_PASSWORD, WebFixture, type Json } from './webFixture.js';
import { knexOf } from '../support/knexOf.js';

const HTML = { accept: 'text/html' };

async function putEmail(
  fixture: WebFixture,
  tenantid: number,
  deliveryid: number,
  subject: string,
): Promise<string> {
  const [row] = await knexOf(fixture.testDatabase.database)('rowpost.mailbox')
    .insert({
      tenantid,
      deliveryid,
      sender: 'Shop <shop@example.com>',
      recipients: ['Ada <ada@example.com>'],
      cc: ['copy@example.com'],
      bcc: [],
      subject,
      text: 'Thank </pre> you',
      reply_to: ['help@example.com'],
      headers: JSON.stringify({ 'X-Note': '<b>' }),
      categories: ['orders & more'],
      html: '<h1>Thank you</h1><script>top.location = "https://evil.example"</script>',
    })
    .returning<{ mailid: string }[]>('mailid');
  return row!.mailid;
}

describe('/mailbox', () => {
  let fixture: WebFixture;
  let shop: CreatedTenant;
  let other: CreatedTenant;
  let mailid: string;
  let otherMailid: string;

  before(async () => {
    fixture = await WebFixture.start();
    shop = await fixture.createTenant('shop');
    other = await fixture.createTenant('other');
    mailid = await putEmail(fixture, shop.tenantid, 1, 'Order <7> & more');
    otherMailid = await putEmail(fixture, other.tenantid, 2, 'Not yours');
  });
  after(() => fixture.stop());

  async function signedIn(
    tenantid: number,
    login = ROOT_LOGIN,
    password = ROOT_PASSWORD,
  ): Promise<ConsoleBrowser> {
    const browser = new ConsoleBrowser(fixture);
    await browser.signIn(String(tenantid), login, password);
    return browser;
  }

  it('asks browsers to sign in, and API clients for a token', async () => {
    const page = await new ConsoleBrowser(fixture).get('/mailbox?page=1');
    expect([page.status, page.headers.get('location')]).to.deep.equal([
      303,
      '/console/sign-in?next=%2Fmailbox%3Fpage%3D1',
    ]);
    const json = await fixture.fetch('/mailbox');
    expect([json.status, ((await json.json()) as Json)['code']]).to.deep.equal([401, 'TOKEN_MISSING']);
    for (const path of [`/mailbox/${mailid}`, `/mailbox/${mailid}/body`, `/mailbox/${mailid}/raw`]) {
      expect((await fixture.fetch(path)).status, path).to.equal(401);
    }
  });

  it("shows a tenant's root the email of its own tenant only", async () => {
    const browser = await signedIn(shop.tenantid);
    const list = await browser.page('/mailbox');
    expect(list).to.include('Order &lt;7&gt; &amp; more').and.not.include('Not yours');
    const email = await browser.page(`/mailbox/${mailid}`);
    expect(email).to.include('Shop &lt;shop@example.com&gt;').and.include('copy@example.com');
    for (const shown of [
      'Thank &lt;/pre&gt; you',
      'help@example.com',
      'X-Note',
      '<dd>&lt;b&gt;</dd>',
      'orders &amp; more',
    ]) {
      expect(email).to.include(shown);
    }
    expect(email)
      .to.match(/<iframe[^>]*\ssandbox>/)
      .and.not.include('<script>');
    expect((await browser.get(`/mailbox/${otherMailid}`)).status).to.equal(404);
    expect((await browser.get(`/mailbox/${otherMailid}/body`)).status).to.equal(404);
  });

  it('shows an email as its recipient would see it, sandboxed', async () => {
    const { access_token } = await fixture.signIn(shop.tenantid);
    const headers = { authorization: `Bearer ${access_token}` };
    const body = await fixture.fetch(`/mailbox/${mailid}/body`, { headers });
    expect(body.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    const policy = body.headers.get('content-security-policy');
    expect(policy)
      .to.match(/^sandbox; default-src 'none'/)
      .and.not.include('script');
    expect(await body.text()).to.include('<h1>Thank you</h1>');
    const raw = await fixture.fetch(`/mailbox/${mailid}/raw`, { headers });
    expect(raw.headers.get('content-type')).to.include('text/plain');
    expect(raw.headers.get('x-content-type-options')).to.equal('nosniff');
    const list = (await (await fixture.fetch('/mailbox', { headers })).json()) as { emails: Json[] };
    expect(list.emails).to.have.length(1);
    expect(list.emails[0]).to.include({ mailid, subject: 'Order <7> & more' });
  });

  it('shows the installation root everything, and plain roles nothing', async () => {
    const list = await (await signedIn(0, 'pxadmin', PXADMIN_PASSWORD)).page('/mailbox');
    expect(list).to.include('Order').and.include('Not yours');

    const { access_token } = await fixture.signIn(shop.tenantid);
    await fixture.control(
      access_token,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      {
        input: { login: 'clerk', password: 'secret of the clerk' },
      },
    );
    const clerk = await signedIn(shop.tenantid, 'clerk', 'secret of the clerk');
    const refused = await clerk.get('/mailbox');
    expect([refused.status, (await refused.text()).includes('may open the mailbox')]).to.deep.equal([
      403,
      true,
    ]);
  });

  it('is where signing in leads back to', async () => {
    const signInFor = async (next: string): Promise<string | null> => {
      const browser = new ConsoleBrowser(fixture);
      const entered = await browser.signIn(String(shop.tenantid), ROOT_LOGIN, ROOT_PASSWORD, next);
      return entered.headers.get('location');
    };
    expect(await signInFor(`/mailbox/${mailid}?page=0`)).to.equal(`/mailbox/${mailid}?page=0`);
    for (const elsewhere of ['/mailboxes', '//evil.example/mailbox', '/query?/mailbox']) {
      expect(await signInFor(elsewhere), elsewhere).to.equal('/console/');
    }
  });
});

describe('/mailbox of an embedded installation', () => {
  let fixture: WebFixture;

  before(async () => {
    fixture = await WebFixture.start({ config: { embedded: true } });
    await putEmail(fixture, (await fixture.createTenant('shop')).tenantid, 1, 'Hello');
  });
  after(() => fixture.stop());

  it('is open to this machine', async () => {
    const page = await fixture.fetch('/mailbox', { headers: HTML });
    expect(page.status).to.equal(200);
    expect(await page.text()).to.include('Hello');
  });

  it('is closed under a foreign host name (DNS rebinding)', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      request(`${fixture.url}/mailbox`, { headers: { host: 'evil.example' } }, (res) => {
        res.resume();
        resolve(res.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).to.equal(401);
  });
});

describe('an installation that sends its email', () => {
  it('has no mailbox', async () => {
    const fixture = await WebFixture.start({ env: { MAIL_TRANSPORT: 'sendgrid' } });
    expect((await fixture.fetch('/mailbox')).status).to.equal(404);
    await fixture.stop();
  });
});
