import { expect } from 'chai';
import { unsubscribeUrl } from '../../src/email/unsubscribeLink.js';
import { KeyRing } from '../../src/config/secrets.js';
import { WebFixture, type GraphqlResult } from '../api/webFixture.js';
import { cpuTimer } from '../support/cpuTime.js';
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

  it('show a page without reading the email types of the address, of which there are at most a thousand', async () => {
    const root = (await fixture.signIn(tenantid)).access_token;
    const add = (start: number): Promise<GraphqlResult> =>
      fixture.control(
        root,
        'mutation ($input: email_unsubscribeInput) { create_email_unsubscribe(input: $input) { address } }',
        {
          input: {
            address: 'ada@example.com',
            email_types: Array.from({ length: 600 }, (_, n) => `type ${start + n}`),
          },
        },
      );
    expect((await add(0)).errors).to.equal(undefined);
    expect((await add(300)).errors, 'half of them are new').to.equal(undefined);
    expect((await add(10_000)).errors?.[0]?.message).to.equal('email_types has more than 1000 names.');
    const { pool } = fixture.testDatabase.database;
    await pool.query(
      `update rowpost.email_unsubscribe
       set email_types = array(select n || repeat('x', 100) from generate_series(1, 300000) n) || '{news}'`,
    );
    const cpuMs = cpuTimer();
    const page = await fixture.fetch(linkOf('ada@example.com'));
    // To read them took more than a second.
    expect(cpuMs()).to.be.below(500);
    expect(await page.text()).to.contain('Unsubscribed');
    expect(await (await fixture.fetch(linkOf('eve@example.com'))).text()).not.to.contain('Unsubscribed');
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
