import { expect } from 'chai';
import { ConsoleBrowser } from '../api/consoleBrowser.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../api/webFixture.js';

const SECRET = 'salaries of the shop';

describe('attack: one browser has a tab for each of two tenants', () => {
  let fixture: WebFixture;
  let browser: ConsoleBrowser;
  before(async () => {
    fixture = await WebFixture.start();
    for (const name of ['shop', 'other']) await fixture.createTenant(name);
  });
  beforeEach(() => (browser = new ConsoleBrowser(fixture)));
  after(() => fixture.stop());

  const signIn = (tenant: string): Promise<Response> => browser.signIn(tenant, ROOT_LOGIN, ROOT_PASSWORD);
  /** Sends the form of a role. @returns the page and the form on it that sends it again */
  const send = async (csrf: string): Promise<{ page: string; again: string | undefined }> => {
    const page = await (await browser.post('/console/roles/edit', { csrf, id: '0', name: SECRET })).text();
    const again = page.includes(SECRET)
      ? [...page.matchAll(/name="csrf" value="([^"]*)"/g)].at(-1)?.[1]
      : undefined;
    return { page, again };
  };

  it('and what was written for one is not offered to the other', async () => {
    await signIn('shop');
    const csrf = await browser.csrf('/console/roles/edit');
    await signIn('other');
    const { page, again } = await send(csrf);
    expect(page).to.include('opened for another tenant');
    expect(again).to.equal(undefined);
  });

  it('nor after the session ended, and the user signed in for the other', async () => {
    await signIn('shop');
    const csrf = await browser.csrf('/console/roles/edit');
    await browser.post('/console/sign-out', { csrf });
    // As the cookie of a session that ended by itself.
    await signIn('shop');
    const cookie = new Map(browser.cookies);
    await browser.post('/console/sign-out', { csrf: await browser.csrf('/console/roles/edit') });
    for (const [name, value] of cookie) browser.cookies.set(name, value);
    const kept = await send(csrf);
    expect(kept.again).to.equal(csrf);
    await signIn('other');
    expect((await send(kept.again!)).again).to.equal(undefined);
    await signIn('shop');
    const back = await send(kept.again!);
    expect(back.page).to.include('another session');
    expect(back.again).to.equal(await browser.csrf('/console/roles/edit'));
  });
});
