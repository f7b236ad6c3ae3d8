import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';

const ADDRESSES = '/console/addresses';

describe('the console’s addresses', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    csrf = await browser.csrf(ADDRESSES);
  });
  after(() => shop.close());

  const post = async (values: Readonly<Record<string, string>>): Promise<[number, string]> => {
    const response = await browser.post(ADDRESSES, { csrf, ...values });
    return [response.status, await response.text()];
  };

  it('suppress an address, find it by any part, and remove the suppression', async () => {
    const added = await post({ action: 'add', address: 'Ada_L@Example.com', note: '<b>asked by phone</b>' });
    expect(added[0]).to.equal(303);
    await post({ action: 'add', address: 'bob@example.com', note: '' });
    const found = await browser.page(`${ADDRESSES}?search=A_L%40`);
    expect(found)
      .to.include('ada_l@example.com')
      .and.include('&lt;b&gt;asked by phone')
      .and.include('added by hand');
    expect(found, 'a search is no pattern').not.to.include('bob@example.com');
    const removed = await post({ action: 'remove', address: 'ada_l@example.com' });
    expect(removed[0]).to.equal(303);
    expect(await browser.page(ADDRESSES)).to.not.include('ada_l@example.com');
    expect(await browser.page(`${ADDRESSES}?done=removed`)).to.include(
      'Removed. The address gets email again.',
    );
  });

  it('unsubscribe an address from some email types, or all', async () => {
    await post({ list: 'unsubscribed', action: 'add', address: 'ada@example.com', note: 'confirmation' });
    await post({ list: 'unsubscribed', action: 'add', address: 'eve@example.com', note: '' });
    const page = await browser.page(`${ADDRESSES}?list=unsubscribed`);
    expect(page.replace(/\s+/g, ' '))
      .to.match(/ada@example\.com.*From confirmation,/)
      .and.match(/eve@example\.com.*From all email types,/);
    const removed = await post({ list: 'unsubscribed', action: 'remove', address: 'eve@example.com' });
    expect(removed[0]).to.equal(303);
  });

  it('show errors next to the field and keep the input', async () => {
    const [status, html] = await post({ action: 'add', address: 'no address', note: 'kept' });
    expect(status).to.equal(400);
    expect(html).to.include('role="alert"').and.include('value="no address"').and.include('value="kept"');
    const [again, page] = await post({ action: 'remove', address: 'nobody@example.com' });
    expect([again, page.includes('role="alert"')]).to.deep.equal([404, true]);
  });

  it('are shown fifty at a time', async () => {
    for (let number = 100; number < 155; number++) {
      await post({ action: 'add', address: `page0${number}@example.com`, note: '' });
    }
    const first = await browser.page(`${ADDRESSES}?search=0`);
    expect(first).to.include('page0149@').and.not.include('page0150@');
    const next = /rel="next" href="([^"]+)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(next).to.include('search=0');
    expect(await browser.page(next))
      .to.include('page0150@')
      .and.not.include('page0149@');
  });

  it("reject forms from other sites and forms without the session's token", async () => {
    const response = await browser.post(ADDRESSES, { csrf: 'x', action: 'add', address: 'eve@example.com' });
    expect(response.status).to.equal(403);
  });
});
