import { expect } from 'chai';
import { unsubscribeUrl } from '../../src/email/unsubscribeLink.js';
import { KeyRing } from '../../src/config/secrets.js';
import { WebFixture } from '../api/webFixture.js';
import { testKeyRing } from '../support/testConfig.js';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const ONE_CLICK = 'List-Unsubscribe=One-Click';

describe('attack: unsubscribe links', () => {
  let fixture: WebFixture;
  let tenantid: number;

  before(async () => {
    fixture = await WebFixture.start();
    tenantid = (await fixture.createTenant('shop', 'create table t (id int primary key)')).tenantid;
  });
  after(() => fixture.stop());
  beforeEach(() => fixture.testDatabase.database.pool.query('delete from rowpost.email_unsubscribe'));

  const linkOf = (address: string, keyRing = testKeyRing, of = tenantid): string =>
    unsubscribeUrl({ baseUrl: '', keyRing }, { tenantid: of, address, emailType: 'news', from: 'type' });
  const post = (path: string, body = ONE_CLICK, headers: Record<string, string> = FORM): Promise<Response> =>
    fixture.fetch(path, { method: 'POST', headers, body });
  const stored = async (): Promise<unknown[]> =>
    (await fixture.testDatabase.database.pool.query<object>('select address from rowpost.email_unsubscribe'))
      .rows;

  it('that were forged, altered, truncated or sealed for another purpose get the same page', async () => {
    const good = linkOf('ada@example.com');
    const sealed = good.slice('/unsubscribe/'.length);
    const other = KeyRing.parse(KeyRing.generateEntry('other'));
    const pages = new Set<string>();
    for (const path of [
      linkOf('ada@example.com', other),
      `/unsubscribe/${testKeyRing.seal(JSON.stringify([tenantid, 'ada@example.com', 'news', 'type']), 'file links')}`,
      good.slice(0, -1),
      `/unsubscribe/${sealed.slice(0, 20)}${sealed[20] === 'A' ? 'B' : 'A'}${sealed.slice(21)}`,
      `${good}=`,
      '/unsubscribe/x',
      '/unsubscribe/%00',
      `/unsubscribe/${'A'.repeat(8_000)}`,
      linkOf('ada@example.com', testKeyRing, 999_999),
    ]) {
      for (const response of [await fixture.fetch(path), await post(path)]) {
        expect(response.status, path.slice(0, 60)).to.equal(404);
        pages.add(await response.text());
      }
    }
    expect([...pages]).to.have.length(1);
    expect(await stored()).to.deep.equal([]);
    expect((await post(good)).status).to.equal(200);
    expect(await stored()).to.deep.equal([{ address: 'ada@example.com' }]);
  });

  it('escape their contents', async () => {
    const page = await (await fixture.fetch(linkOf('"<script>alert(1)</script>"@example.com'))).text();
    expect(page).not.to.contain('<script>');
    expect(page).to.contain('&lt;script&gt;');
  });

  it('accept neither large bodies nor other methods', async () => {
    const path = linkOf('ada@example.com');
    expect((await post(path, `${ONE_CLICK}&x=${'y'.repeat(5_000)}`, FORM)).status).to.equal(413);
    expect((await fixture.fetch(path, { method: 'PUT', body: 'x' })).status).to.be.oneOf([404, 405]);
    expect(await stored()).to.deep.equal([]);
  });

  it('are rate-limited per recipient', async () => {
    const path = linkOf('flood@example.com');
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, index) => post(path, `choice=${index % 2 ? 'all' : 'subscribe'}`)),
    );
    expect(responses.filter(({ status }) => status === 429)).to.have.length(10);
    expect((await post(linkOf('other@example.com'))).status).to.equal(200);
  });
});
