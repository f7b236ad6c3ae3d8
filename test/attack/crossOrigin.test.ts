import { expect } from 'chai';
import { loadConfig } from '../../src/process/loadConfig.js';
import { ConsoleBrowser } from '../api/consoleBrowser.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../api/webFixture.js';

const APP = 'https://app.example.com';

describe("attack: a page of an app that may call the API reads what its user's cookies open", () => {
  let fixture: WebFixture;
  let browser: ConsoleBrowser;
  before(async () => {
    fixture = await WebFixture.start({ env: { CORS_ORIGINS: APP, MAIL_TRANSPORT: 'mailbox' } });
    await fixture.createTenant('shop');
    browser = new ConsoleBrowser(fixture);
    await browser.signIn('shop', ROOT_LOGIN, ROOT_PASSWORD);
  });
  after(() => fixture.stop());

  /** Who may read the response. */
  const readers = async (path: string): Promise<string | null> => {
    const response = await browser.get(path, { origin: APP, 'sec-fetch-site': 'same-site' });
    await response.arrayBuffer();
    return response.headers.get('access-control-allow-origin');
  };

  for (const path of [
    '/console/sign-in',
    '/console/deliveries',
    '/console/emails/edit',
    '/CONSOLE/roles',
    '/mailbox',
    '/mailbox/1/raw',
    '/metrics',
  ]) {
    it(`but not ${path}`, async () => expect(await readers(path)).to.equal(null));
  }

  it('nor is told that it may', async () => {
    const response = await fixture.fetch('/console/deliveries', {
      method: 'OPTIONS',
      headers: { origin: APP, 'access-control-request-method': 'POST' },
    });
    expect(response.status).to.equal(204);
    expect(response.headers.get('access-control-allow-origin')).to.equal(null);
  });

  for (const path of ['/query', '/roles_pbac', '/auth', '/anonauth', '/oidc', '/signin', '/files/x']) {
    it(`while ${path} is for it`, async () => expect(await readers(path)).to.equal(APP));
  }

  it('is not one of every sandboxed frame', () => {
    const corsOrigins = (value: string): readonly string[] => loadConfig({ CORS_ORIGINS: value }).corsOrigins;
    expect(() => corsOrigins('null')).to.throw('CORS_ORIGINS is not a list of origins');
    expect(() => corsOrigins('*,null')).to.throw('CORS_ORIGINS');
    expect(corsOrigins(`${APP}/, *`)).to.deep.equal([APP, '*']);
  });
});
