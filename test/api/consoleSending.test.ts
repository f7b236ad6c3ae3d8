import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';

const SENDING = '/console/sending';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

describe('the console’s page on sending', () => {
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
    const answer = await browser.post(SENDING, { csrf, ...values });
    return [answer.status, await answer.text()];
  };

  it('says what the tenant sends by, and gives each carrier its address', async () => {
    const page = await browser.page(SENDING);
    expect(page).to.include('<strong>sendgrid</strong>').and.include('reports are refused: no secret');
    expect(page.match(/<code>https?:\/\/[^<]+\/events\/[^<]+<\/code>/g)).to.have.lengthOf(5);
  });

  it('takes a secret, shows that it is set, and never shows it', async () => {
    expect((await post({ what: 'resend', secret: SECRET }))[0]).to.equal(303);
    const page = await browser.page(SENDING);
    expect(page).to.match(/Resend <span class="state sent">reports are taken/);
    expect(page).to.not.include(SECRET);
  });

  it('says what is wrong with a secret, without repeating it', async () => {
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

  it('takes nothing without the token of the session', async () => {
    const answer = await browser.post(SENDING, { csrf: 'x', what: 'resend', secret: SECRET });
    expect(answer.status).to.equal(403);
    expect(await answer.text()).to.not.include(SECRET);
  });
});
