import { expect } from 'chai';
import { browserName } from '../../src/api/console/browserName.js';
import { ConsoleBrowser } from './consoleBrowser.js';
import { ROOT_LOGIN, ROOT_PASSWORD, textAt, WebFixture } from './webFixture.js';

const PASSWORD = 'the secret of a role';
const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };

describe("the console's page of a role's sessions", () => {
  let fixture: WebFixture;
  let tenantid: number;
  let roleid: string;

  before(async () => {
    fixture = await WebFixture.start();
    ({ tenantid } = await fixture.createTenant('shop'));
    const { access_token } = await fixture.signIn(tenantid);
    const made = await fixture.control(
      access_token,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      { input: { login: 'ada', password: PASSWORD, capabilities: ['login'] } },
    );
    roleid = textAt(made, 'data.create_role.roleid');
  });
  after(() => fixture.stop());

  async function signedIn(login: string, password: string): Promise<ConsoleBrowser> {
    const browser = new ConsoleBrowser(fixture);
    const form = { tenant: 'shop', login, password };
    expect((await browser.post('/console/sign-in', form, FIREFOX)).status).to.equal(303);
    return browser;
  }

  const idsIn = (html: string): readonly string[] =>
    [...html.matchAll(/name="sessionid" value="([^"]+)"/g)].map(([, id = '']) => id);

  it('ends those of a role that one may change, from the page of the role', async () => {
    const ada = await signedIn('ada', PASSWORD);
    const root = await signedIn(ROOT_LOGIN, ROOT_PASSWORD);
    const link = `/console/sessions?roleid=${roleid}`;
    expect(await root.page(`/console/roles/edit?id=${roleid}`)).to.include(`href="${link}"`);
    const html = await root.page(link);
    expect(html).to.include('Firefox on Linux').and.not.include('(this session)');
    const [sessionid = ''] = idsIn(html);
    const csrf = await root.csrf(link);
    const end = { csrf, roleid, sessionid, action: 'end' };
    const done = await root.post('/console/sessions', end);
    expect(done.headers.get('location')).to.equal(`${link}&done=ended`);
    expect(await root.page(`${link}&done=ended`)).to.include('The session has ended.');
    expect((await ada.get('/console/account')).status).to.equal(303);
    expect((await root.post('/console/sessions', end)).status).to.equal(404);
    const others = [await signedIn('ada', PASSWORD), await signedIn('ada', PASSWORD)];
    await root.post('/console/sessions', { csrf, roleid, action: 'all' });
    for (const browser of others)
      expect((await browser.get('/console/account')).headers.get('location')).to.match(/^\/console\/sign-in/);
    const stranger = await signedIn('ada', PASSWORD);
    expect((await stranger.get('/console/sessions?roleid=1')).status).to.equal(404);
  });

  it('names browsers as people do', () => {
    for (const [userAgent, name] of [
      [
        'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
        'Edge on Windows',
      ],
      [
        'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
        'Chrome on Android',
      ],
      [
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
        'Safari on iPhone',
      ],
      [
        'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
        'Safari on macOS',
      ],
      ['curl/8.5.0', 'curl/8.5.0'],
      ['<script>', '<script>'],
      ['', 'A program without a name'],
    ] as const)
      expect(browserName(userAgent)).to.equal(name);
  });
});
