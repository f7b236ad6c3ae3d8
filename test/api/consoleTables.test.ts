import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { ConsoleShop } from './consoleShop.js';
import { PXADMIN_PASSWORD } from './webFixture.js';

const TABLES = '/console/tables';
const TENANTS = '/console/tenants';

describe('the console’s tables', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    csrf = await browser.csrf(TABLES);
    await runTenantSql(shop.fixture.testDatabase.database, {
      tenantid: shop.tenantid,
      sql: `create table line (order_id int references orders, line int, price numeric(10, 2) not null, tags text[], primary key (order_id, line));
       create view totals as select * from line`,
    });
    await browser.post(TABLES, { csrf });
  });
  after(() => shop.close());

  it('show columns and relations under the names used in templates', async () => {
    const list = await browser.page(TABLES);
    expect(list).to.include('/console/tables/orders').and.include('view, read-only');
    expect(await browser.page(`${TABLES}?search=OTAL`))
      .to.include('totals')
      .and.not.include('/console/tables/orders');
    const page = (await browser.page(`${TABLES}/line`)).replace(/\s+/g, ' ');
    expect(page)
      .to.match(/<code>order_id<\/code> <span class="state">key/)
      .and.include('<code>text[]</code>')
      .and.match(/<code>price<\/code><\/td><td><code>numeric\S*<\/code><\/td><td>no/)
      .and.match(/a row of <a href="\/console\/tables\/orders"/);
    expect(await browser.page(`${TABLES}/totals`)).to.include('It is read-only: a view');
    const rule = await browser.page('/console/rules/edit');
    expect(rule).to.include('name="of_line"').and.not.include('name="of_totals"');
  });

  it('show whose changes are captured, and switch capture', async () => {
    expect(await browser.page(`${TABLES}/orders`)).to.include('Changes made through the API are events');
    const response = await browser.post(`${TABLES}/orders`, { csrf, writers: 'all' });
    expect(response.status, await response.text()).to.equal(303);
    expect(await browser.page(`${TABLES}/orders`)).to.include('Every committed change is an event');
    expect(await browser.page(TABLES)).to.include('sees every change');
    await browser.post(`${TABLES}/orders`, { csrf, writers: 'api' });
    expect(await browser.page(`${TABLES}/orders`)).to.include('Changes made through the API are events');
  });

  it('refuse tables that can’t be captured, unknown tables, and everybody but admins', async () => {
    const view = await browser.post(`${TABLES}/totals`, { csrf, writers: 'all' });
    expect([view.status, (await view.text()).includes('has no primary key')]).to.deep.equal([400, true]);
    expect((await browser.get(`${TABLES}/none`)).status).to.equal(400);
    const viewer = await shop.signedIn('shop', 'viewer');
    expect((await viewer.get(TABLES)).status).to.equal(403);
    expect((await browser.post(`${TABLES}/orders`, { csrf: 'x', writers: 'all' })).status).to.equal(403);
    const other = await shop.signedIn('other');
    expect(await other.page(TABLES)).to.not.include('orders');
  });
});

describe('the console’s tenants', () => {
  let shop: ConsoleShop;
  let operator: ConsoleBrowser;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    operator = await shop.signedIn('0', 'pxadmin', PXADMIN_PASSWORD);
    csrf = await operator.csrf(TENANTS);
  });
  after(() => shop.close());

  it('are a page of pxadmin', async () => {
    const page = await operator.page(TENANTS);
    expect(page).to.include('>shop').and.include('nothing waits').and.not.include('/console/emails');
  });

  it('show the backlog per tenant', async () => {
    const order = await shop.changeOrder(7, 'new', 'paid');
    await shop.deliver(order, { state: 'pending', attempts: 0, starts: 0, due: new Date() });
    const page = (await operator.page(`${TENANTS}?search=sho`)).replace(/\s+/g, ' ');
    expect(page).to.match(/<h2>shop <span class="state retrying">\d+ waiting/);
  });

  it('are created, suspended and resumed', async () => {
    const root = { name: 'Fresh & <new>', root_login: 'root', secret: 'a secret of theirs' };
    const made = await operator.post(TENANTS, { csrf, action: 'create', ...root });
    expect(made.status, await made.text()).to.equal(303);
    const page = await operator.page(`${TENANTS}?search=Fresh`);
    expect(page).to.include('Fresh &amp; &lt;new&gt;').and.not.include('a secret of theirs');
    const tenantid = /name="tenantid" value="(\d+)"/.exec(page)?.[1] ?? '';
    const theirs = await shop.signedIn(tenantid, 'root', root.secret);
    const signIn = async (): Promise<number> => {
      const login = { tenantid: Number(tenantid), login: 'root', password: root.secret };
      return (await shop.fixture.postJson('/auth', login)).status;
    };
    expect((await operator.post(TENANTS, { csrf, action: 'suspend', tenantid })).status).to.equal(303);
    expect(await signIn()).to.equal(403);
    expect(await operator.page(`${TENANTS}?search=Fresh`)).to.include('suspended');
    const ended = await theirs.get('/console/deliveries');
    expect([ended.status, ended.headers.get('location')?.includes('/sign-in')]).to.deep.equal([303, true]);
    await operator.post(TENANTS, { csrf, action: 'resume', tenantid });
    expect(await signIn()).to.equal(200);
  });

  it('say what is wrong beside what was written, and never show a password again', async () => {
    const again = { action: 'create', name: 'shop', root_login: 'root', secret: 'a secret of theirs' };
    const response = await operator.post(TENANTS, { csrf, ...again });
    const page = await response.text();
    expect(response.status).to.equal(409);
    expect(page).to.include('role="alert"').and.include('value="shop"').and.not.include(again.secret);
    const installation = await operator.post(TENANTS, { csrf, action: 'suspend', tenantid: '0' });
    expect(installation.status).to.equal(404);
  });

  it('are for pxadmin only', async () => {
    const root = await shop.signedIn();
    expect((await root.get(TENANTS)).status).to.equal(403);
    const token = await root.csrf('/console/roles');
    const posted = await root.post(TENANTS, { csrf: token, action: 'suspend', tenantid: '2' });
    expect(posted.status).to.equal(403);
  });
});
