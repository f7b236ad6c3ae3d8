import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { at } from './webFixture.js';

const KEYS = '/console/keys';

describe('the console’s API keys', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    csrf = await browser.csrf(KEYS);
  });
  after(() => shop.close());

  const post = (values: Readonly<Record<string, string>>, by = browser): Promise<Response> =>
    by.post(KEYS, { csrf, roleid: '0', ...values });
  const make = (values: Readonly<Record<string, string>> = {}): Promise<Response> =>
    post({ action: 'make', name: 'web <shop>', days: '90', ...values });
  const keyIn = (html: string): string => /rowpost_\d+_\d+_[0-9A-Za-z]{38}/.exec(html)?.[0] ?? '';

  it('show a new key once, which works, and no page has it again', async () => {
    const html = await (await make({ may_select: 'on' })).text();
    const key = keyIn(html);
    expect(html).to.include('web &lt;shop&gt;').and.not.include('<shop>');
    const { data } = await shop.fixture.control(key, '{ api_key { name capabilities expires } }');
    const shown = at(data, 'api_key.0') as { expires: string };
    expect(shown)
      .to.include({ name: 'web <shop>' })
      .and.deep.include({ capabilities: ['select'] });
    expect(Date.parse(shown.expires) - Date.now()).to.be.within(89 * 86_400_000, 90 * 86_400_000);
    const { baseUrl } = shop.fixture.config;
    expect(html).to.include(
      `value="curl ${baseUrl}/query -H &#39;Authorization: Bearer ${key}&#39; `.replaceAll('&#39;', "'"),
    );
    const page = await browser.page(KEYS);
    expect(page).to.include('may do select').and.include('Never used');
    expect(keyIn(page)).to.equal('');
    expect(await browser.page('/console/audit?object=api_key'))
      .to.include('created the API key')
      .and.not.include(key);
  });

  it('keep what was written if something is wrong', async () => {
    const response = await make({ days: '30', may_update: 'on' });
    expect(response.status).to.equal(409);
    const html = await response.text();
    expect(html).to.match(/is named .{1,6}web &lt;shop&gt;/);
    expect(html).to.include('value="30" selected').and.include('name="may_update" checked');
    expect((await make({ name: 'b', days: '7' })).status).to.equal(400);
  });

  it('are of a role that one may change', async () => {
    const roleid = String(
      at(
        await shop.fixture.control(shop.root, `{ role(filter: "login = 'clerk'") { roleid } }`),
        'data.role.0.roleid',
      ),
    );
    const key = keyIn(await (await make({ roleid, days: '' })).text());
    expect(at(await shop.fixture.control(key, '{ role { login } }'), 'data.role')).to.deep.equal([
      { login: 'clerk' },
    ]);
    expect(await browser.page(`${KEYS}?roleid=${roleid}`))
      .to.include('does not end by itself')
      .and.include('API keys of clerk');
    const clerk = await shop.signedIn('shop', 'clerk');
    expect(await clerk.page(KEYS))
      .to.include('does not end by itself')
      .and.include('name="may_login"')
      .and.not.include('name="may_create_role"');
    expect(await browser.page(KEYS)).to.include('name="may_create_role"');
    // Of others, a role sees none, and makes none.
    expect(await clerk.page(`${KEYS}?roleid=2`)).to.include('There are no API keys.');
    const theirs = { csrf: await clerk.csrf(KEYS), action: 'make', name: 'x', days: '', roleid: '2' };
    expect((await post(theirs, clerk)).status).to.be.oneOf([403, 404]);
  });

  it('are deleted, by forms of one’s own only', async () => {
    const key = keyIn(await (await make({ name: 'gone' })).text());
    const keyid = String(
      at(
        await shop.fixture.control(key, `{ api_key(filter: "name = 'gone'") { keyid } }`),
        'data.api_key.0.keyid',
      ),
    );
    expect((await post({ action: 'delete', keyid, csrf: 'another' })).status).to.equal(403);
    const response = await post({ action: 'delete', keyid });
    expect(response.headers.get('location')).to.equal('/console/keys?done=deleted');
    const after = await shop.fixture.postJson(
      '/query',
      { query: '{ __typename }' },
      { authorization: `Bearer ${key}` },
    );
    expect(after.status).to.equal(401);
  });
});
