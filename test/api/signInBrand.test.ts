import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';

const BRAND = '/console/brand';
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const EVIL = '"><script>alert(1)</script>';

describe('the brand of a sign-in page', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    csrf = await browser.csrf(BRAND);
  });
  after(() => shop.close());

  const pages = async (): Promise<readonly string[]> => {
    const paths = [`/console/sign-in?tenant=${shop.tenantid}`, `/signin?tenantid=${shop.tenantid}`];
    return Promise.all(paths.map(async (path) => (await fetch(shop.fixture.url + path)).text()));
  };

  it("is set in the console, shown at that tenant's sign-in only, and removed", async () => {
    const saved = await browser.post(BRAND, { csrf, name: `Paper & ${EVIL}`, color: '#2f55d4', logo: PIXEL });
    expect(saved.status).to.equal(303);
    for (const html of await pages()) {
      expect(html)
        .to.include('Paper &amp; &')
        .and.include('fill="#2f55d4"')
        .and.include(`src="${PIXEL}"`)
        .and.not.include('<script');
    }
    const other = await fetch(`${shop.fixture.url}/console/sign-in?tenant=other`);
    expect(await other.text()).not.to.include('Paper');
    expect(other.headers.get('content-security-policy')).to.include('img-src data:');
    expect(await browser.page(BRAND)).to.include('value="#2f55d4"');
    expect((await browser.post(BRAND, { csrf })).status).to.equal(303);
    for (const html of await pages()) expect(html).to.not.include('Paper').and.not.include('class="band"');
  });

  it('rejects invalid names, colors and images, and keeps the input', async () => {
    for (const [values, words] of [
      [{ name: 'x'.repeat(81) }, 'at most 80 characters'],
      [{ name: 'two\nlines' }, 'at most 80 characters'],
      [{ color: 'red;background:url(x)' }, 'written like #2f55d4'],
      [{ logo: 'https://evil.example/track.png' }, 'data URI of an image'],
      [{ logo: 'data:text/html;base64,PGI+' }, 'data URI of an image'],
      [{ logo: `data:image/png;base64,${'A'.repeat(70_000)}` }, 'data URI of an image'],
    ] as const) {
      const response = await browser.post(BRAND, { csrf, name: 'kept', ...values });
      const html = await response.text();
      expect([response.status, html.includes(words)], html.slice(0, 4_000)).to.deep.equal([400, true]);
      if (!('name' in values)) expect(html).to.include('value="kept"');
    }
  });

  it('is for administrators, through forms of their own session', async () => {
    expect((await browser.post(BRAND, { csrf: 'x', name: 'x' })).status).to.equal(403);
    const clerk = await shop.signedIn('shop', 'clerk');
    expect((await clerk.get(BRAND)).status).to.equal(403);
  });
});
