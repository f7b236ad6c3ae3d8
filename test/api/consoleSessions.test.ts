import { expect } from 'chai';
import { browserName } from '../../src/api/console/browserName.js';
import { ConsoleBrowser } from './consoleBrowser.js';
import { ROOT_LOGIN, ROOT_PASSWORD, textAt, WebFixture } from './webFixture.js';

const PASSWORD = 'the secret of a role';
const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };

describe("the console's page of sessions", () => {
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

  it("shows one's own, and ends another one", async () => {
    const [here, elsewhere] = [await signedIn('ada', PASSWORD), await signedIn('ada', PASSWORD)];
    const html = await here.page('/console/sessions');
    expect(html).to.include('Your sessions').and.include('Firefox on Linux').and.include('(this session)');
    const [sessionid = '', ...more] = idsIn(html);
    expect(more).to.deep.equal([]);
    const csrf = await here.csrf('/console/sessions');
    const form = { csrf, roleid: '0', sessionid, action: 'end' };
    const done = await here.post('/console/sessions', form);
    expect([done.status, done.headers.get('location')]).to.deep.equal([303, '/console/sessions?done=ended']);
    expect(await here.page('/console/sessions?done=ended')).to.include('The session has ended.');
    expect((await elsewhere.get('/console/sessions')).headers.get('location')).to.match(
      /^\/console\/sign-in/,
    );
    const again = await here.post('/console/sessions', form);
    expect(again.status).to.equal(404);
    expect(await again.text()).to.include('There is no session');
  });

  it('ends all, this one too', async () => {
    const [here, elsewhere] = [await signedIn('ada', PASSWORD), await signedIn('ada', PASSWORD)];
    const csrf = await here.csrf('/console/sessions');
    expect((await here.post('/console/sessions', { csrf, roleid: '0', action: 'all' })).status).to.equal(303);
    for (const browser of [here, elsewhere])
      expect((await browser.get('/console/sessions')).headers.get('location')).to.match(
        /^\/console\/sign-in/,
      );
  });

  it('is of a role that one may change, too, from the page of the role', async () => {
    const ada = await signedIn('ada', PASSWORD);
    const root = await signedIn(ROOT_LOGIN, ROOT_PASSWORD);
    const link = `/console/sessions?roleid=${roleid}`;
    expect(await root.page(`/console/roles/edit?id=${roleid}`)).to.include(`href="${link}"`);
    const [sessionid = ''] = idsIn(await root.page(link));
    const csrf = await root.csrf(link);
    await root.post('/console/sessions', { csrf, roleid, sessionid, action: 'end' });
    expect((await ada.get('/console/sessions')).status).to.equal(303);
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
