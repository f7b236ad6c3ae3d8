import { expect } from 'chai';
import { ConsoleBrowser } from '../api/consoleBrowser.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../api/webFixture.js';

/** Their requests come with the session, which is SameSite=Lax, where the service is on the same site. */
describe("attack: a page of an origin in CORS_ORIGINS reads its visitors' console", () => {
  const OF_PAGE = {
    origin: 'https://app.example.com',
    'sec-fetch-site': 'same-site',
    'sec-fetch-mode': 'cors',
  };
  let fixture: WebFixture;
  afterEach(() => fixture.stop());

  for (const origins of [OF_PAGE.origin, '*']) {
    it(`with CORS_ORIGINS=${origins}`, async () => {
      fixture = await WebFixture.start({ env: { CORS_ORIGINS: origins, MAIL_TRANSPORT: 'mailbox' } });
      await fixture.createTenant('shop', 'create table note (id int primary key)');
      const browser = new ConsoleBrowser(fixture);
      await browser.signIn('shop', ROOT_LOGIN, ROOT_PASSWORD);
      for (const path of [
        '/console/roles',
        '/CONSOLE/roles',
        '/console/nothing',
        '/mailbox',
        '/console/sign-in',
      ]) {
        const { headers } = await browser.get(path, OF_PAGE);
        const open = [...headers.keys()].filter((name) => name.startsWith('access-control-'));
        expect(open, path).to.deep.equal([]);
      }
      // The API stays open to it.
      const { headers } = await fixture.fetch('/auth', { headers: OF_PAGE });
      expect(headers.get('access-control-allow-origin')).to.equal(origins);
    });
  }
});
