import { expect } from 'chai';
import { CARRIERS } from '../../src/email/carriers/allCarriers.js';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';

const SENDING = '/console/sending';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

describe('the console’s carrier page', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    csrf = await browser.csrf(SENDING);
  });
  after(() => shop.close());

  const post = async (values: Readonly<Record<string, string>>): Promise<[number, string]> => {
    const response = await browser.post(SENDING, { csrf, ...values });
    return [response.status, await response.text()];
  };

  it('shows the carriers in use, and the webhook address of each', async () => {
    const page = await browser.page(SENDING);
    expect(page).to.include('<strong>SendGrid</strong>').and.include('reports are rejected: no secret');
    expect(page.match(/<code>https?:\/\/[^<]+\/events\/[^<]+<\/code>/g)).to.have.length(
      CARRIERS.filter(({ reports }) => reports).length,
    );
  });

  it('accepts a secret, shows that it is set, and never reveals it', async () => {
    const response = await browser.post(SENDING, { csrf, what: 'resend', secret: SECRET });
    expect(response.status).to.equal(303);
    const page = await browser.page(response.headers.get('location') ?? '');
    expect(page).to.include('<p class="notice" role="status">The secret is set');
    expect(page).to.match(/Resend <span class="state sent">reports are accepted/);
    expect(page).to.not.include(SECRET);
  });

  it('reports an invalid secret without echoing it', async () => {
    for (const values of [
      { what: 'postmark', secret: 'too short' },
      { what: 'sendgrid', secret: 'no key at all' },
      { what: 'nobody', secret: 'x'.repeat(20) },
      { what: 'resend', secret: ' ' },
    ]) {
      const [status, html] = await post(values);
      expect(status, values.what).to.equal(400);
      expect(html)
        .to.include('role="alert"')
        .and.not.include(values.secret.trim() || '\0');
    }
  });

  describe('sets the account of', () => {
    const PASSWORD = 'canary-password';
    const SMTP = { what: 'carrier', kind: 'smtp', host: 'mail.example.com', port: '465', username: 'shop' };

    it('an SMTP server, and shows everything but the password', async () => {
      expect((await post({ ...SMTP, security: '', password: PASSWORD }))[0]).to.equal(303);
      const page = await browser.page(SENDING);
      expect(page).to.include('<strong>SMTP server</strong>, mail.example.com, 465, tls, shop');
      expect(page).to.not.include(PASSWORD).and.not.include('<strong>SendGrid</strong>');
    });

    it('any other carrier, and SendGrid again', async () => {
      const shown = async (values: Readonly<Record<string, string>>): Promise<string> => {
        expect((await post({ what: 'carrier', ...values }))[0], values['kind']).to.equal(303);
        return (await browser.page(SENDING)).match(/<strong>([\w ]+)<\/strong>/)?.[1] ?? '';
      };
      const aws = { access_key_id: 'AKIA123', secret_access_key: 'x'.repeat(40), region: 'eu-central-1' };
      for (const [name, values] of [
        ['Amazon SES', { kind: 'ses', configuration_set: '', ...aws }],
        ['Resend', { kind: 'resend', apikey: 're_key' }],
        ['Postmark', { kind: 'postmark', apikey: 'token', message_stream: 'outbound' }],
        ['Brevo', { kind: 'brevo', apikey: 'xkeysib-key' }],
        ['Mailgun', { kind: 'mailgun', apikey: 'key', domain: 'mg.example.com', region: 'eu' }],
        ['SendGrid', { kind: 'sendgrid', apikey: 'SG.other' }],
      ] as const) {
        expect(await shown(values)).to.equal(name);
      }
    });

    it('SendGrid, and keeps the order of several carriers', async () => {
      const input = { transports: [{ kind: 'sendgrid' }, { kind: 'resend', apikey: 're_key' }] };
      const set =
        'mutation ($input: email_transportInput!) { Utility { set_email_transport(input: $input) { set_time } } }';
      expect((await shop.fixture.control(shop.root, set, { input })).errors).to.equal(undefined);
      expect((await post({ what: 'carrier', kind: 'sendgrid', apikey: 'SG.third' }))[0]).to.equal(303);
      const page = await browser.page(SENDING);
      expect([...page.matchAll(/<strong>(\w+)<\/strong>/g)].map(([, kind]) => kind)).to.deep.equal([
        'SendGrid',
        'Resend',
      ]);
    });

    it('no rejected one, and keeps the input except secrets', async () => {
      const [status, html] = await post({ ...SMTP, port: '99999', password: PASSWORD });
      expect(status).to.equal(400);
      expect(html)
        .to.include('role="alert"')
        .and.include('value="mail.example.com"')
        .and.include('value="99999"')
        .and.match(/<details name="carrier" open><summary>SMTP server/)
        .and.not.include(PASSWORD);
      for (const values of [{ kind: 'pigeon' }, { kind: 'ses', region: 'x' }, { kind: 'sendgrid' }, {}]) {
        expect((await post({ what: 'carrier', ...values }))[0]).to.equal(400);
      }
    });
  });

  it("rejects forms without the session's token", async () => {
    const response = await browser.post(SENDING, { csrf: 'x', what: 'resend', secret: SECRET });
    expect(response.status).to.equal(403);
    expect(await response.text()).to.not.include(SECRET);
  });
});
