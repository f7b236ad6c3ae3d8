import { expect } from 'chai';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { knexOf } from '../support/knexOf.js';

const EVIL = `"><script>alert('x')</script>{{ 7 | times: 7 }}`;

describe('the console’s “Why did nothing happen?”', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
  });
  after(() => shop.close());

  const path = (table: string, key: string): string =>
    `/console/why?${new URLSearchParams({ table, key }).toString()}`;

  it('has a form that works without scripts and lists the tables', async () => {
    const html = await browser.page('/console/why');
    expect(html)
      .to.match(/<form [^>]*method="get" action="\/console\/why"/)
      .and.include('<option value="orders">')
      .and.include('aria-current="page">Why?');
  });

  it('offers the rows of a table, and keeps the input when there is no such table', async () => {
    expect(await browser.page('/console/why?table=orders')).to.include('?table=orders&amp;key=7">7</a>');
    const response = await browser.get('/console/why?table=oders&key=7');
    expect(response.status).to.equal(400);
    expect(await response.text())
      .to.include('There is no table')
      .and.include('name="table" value="oders"')
      .and.include('name="key" value="7"');
  });

  it('says once that nothing is recorded, and shows the key of a link from a row as people type it', async () => {
    const html = await browser.page(path('orders', '{"order_id":"999"}'));
    expect(html.match(/No change to this row is recorded/g)).to.have.length(1);
    expect(html).to.include('name="key" value="999"').and.include('orders, order_id = 999</dd>');
  });

  it('shows what the API explains', async () => {
    const { database } = shop.fixture.testDatabase;
    await runTenantSql(database, { tenantid: shop.tenantid, sql: 'create table visit (id int primary key)' });
    await shop.fixture.control(shop.root, '{ Utility { introspect } }');
    const { roleid } = await shop.fixture.signIn(shop.tenantid);
    const visits = await shop.fixture.control(
      shop.root,
      `mutation { create_email_rule(input: { name: "Visits", operations: ["insert"], targets: ["visit"],
        email_type: "confirmation", query_roleid: ${roleid} }) { ruleid }
      gone: create_email_rule(input: { name: "Gone orders", operations: ["delete"], targets: ["orders"],
        email_type: "confirmation", query_roleid: ${roleid} }) { ruleid } }`,
    );
    expect(visits.errors).to.equal(undefined);
    await shop.changeOrder(7, 'new', EVIL);
    const html = await browser.page(path('orders', '7'));
    expect(html)
      .to.include('Paid orders')
      .and.include('did not match: its condition was not met')
      .and.include('new.status = ');
    expect(html).to.include('1 about other tables').and.not.include('Visits');
    expect(html).to.match(
      /<a href="\/console\/rules\/edit\?id=\d+">Gone orders<\/a> is for other kinds of change\.<\/strong> The rule is for delete, not update\./,
    );
    expect(html).to.include('Row changed: waits for the relay').and.include('changes made through the API');
    expect(html).not.to.match(/<script>|&gt;49/);
    const event = await shop.changeOrder(7, 'new', 'paid');
    const knex = knexOf(shop.fixture.testDatabase.database);
    const delivery = {
      tenantid: shop.tenantid,
      ruleid: shop.ruleid,
      email_type: 'confirmation',
      state: 'failed',
    };
    await knex.raw(
      `insert into rowpost.delivery (tenantid, ruleid, email_type, state, error_code, error, tracked, eventid, createtime,
         operation, target, key, delivery)
       select ?, ?, ?, ?, 'TEMPLATE_FAILED', ?, true, eventid, time, operation, target, key, 'at_least_once'
       from rowpost.outbox where eventid = ?`,
      [...Object.values(delivery), EVIL, event],
    );
    const failed = await browser.page(path('orders', '{"order_id": 7}'));
    expect(failed)
      .to.match(/<a href="\/console\/deliveries\/\d+">/)
      .and.include('TEMPLATE_FAILED')
      .and.include('<span class="state failed">Failed</span>')
      .and.include('The template failed.')
      .and.include('<dt>By</dt><dd>root</dd>')
      .and.include('Row changed: 1 email');
    expect(failed).not.to.match(/<script>|&gt;49/);
  });

  it('finds the rows of a person in any table, those that refer to them, and no other tenant’s', async () => {
    const { database } = shop.fixture.testDatabase;
    await runTenantSql(database, {
      tenantid: shop.tenantid,
      sql: `create table client (client_id int primary key, "fullName" text, city text);
        create table ticket (ticket_id int primary key, about text, client_id int references client);
        insert into client values (1, 'Zoe 100%', 'Lisbon'), (2, '${EVIL.replaceAll("'", "''")}', 'zoe'), (3, 'Zoe 1000', null);
        insert into client select 100 + i, 'Many', '' from generate_series(1, 11) i;
        insert into ticket select i, 'about ' || i, 1 from generate_series(1, 12) i;
        insert into ticket values (20, null, 2);`,
    });
    await shop.fixture.control(shop.root, '{ Utility { introspect } }');
    const of = (person: string, as = browser): Promise<string> =>
      as.page(`/console/why?${new URLSearchParams({ person }).toString()}`);
    const links = (page: string): string[] =>
      [...page.matchAll(/<li><a href="(\/console\/why[^"]+)">([^<]*)/g)].map(([, , label]) => label!);
    expect(links(await of('ZOE'))).to.have.members(['1: Zoe 100%, Lisbon', '3: Zoe 1000']);
    expect(links(await of('100%'))).to.deep.equal(['1: Zoe 100%, Lisbon']);
    const many = await of('Many');
    expect(links(many)).to.have.length(10);
    expect(many).to.include('And more.');
    expect(await of(EVIL)).not.to.match(/<script>alert|&gt;49/);
    expect(await of('Zacharias')).to.include('No row has this in a name or an address.');
    expect(links(await of('Zoe', await shop.signedIn('other')))).to.deep.equal([]);
    const html = await browser.page(path('client', '1'));
    expect(html).to.include('Rows that refer to this one').and.include('And more.');
    expect(links(html).slice(0, 2)).to.deep.equal(['12: about 12, 1', '11: about 11, 1']);
    expect(await browser.page(path('client', '3'))).not.to.include('Rows that refer');
    expect(links(await browser.page(path('client', '2')))).to.deep.equal(['20: 2']);
  });

  it('says that no email came because no rule is about the table, or none matched', async () => {
    await shop.fixture.graphql(
      '/query',
      shop.root,
      'mutation { create_client(input: { client_id: 50, fullName: "Nobody" }) { client_id } }',
    );
    await shop.changeOrder(7, 'new', 'lost');
    const client = path('client', '50');
    expect(await browser.page(client)).to.include('Row added: waits for the relay');
    await knexOf(shop.fixture.testDatabase.database).raw(
      'insert into rowpost.relay_poll (previous, snapshot, time) select max(pollid), pg_current_snapshot(), now() from rowpost.relay_poll',
    );
    expect(await browser.page(client)).to.include('no email, because no rule is about this table');
    expect(await browser.page(path('orders', '7'))).to.include(
      'Row changed: no email, because no rule matched',
    );
  });

  it('reports an invalid filter, with everything escaped', async () => {
    for (const [table, key, words] of [
      ['order', '7', 'There is no table'],
      ['orders', EVIL, 'The key of orders is'],
      [EVIL, EVIL, 'There is no table'],
    ] as const) {
      const response = await browser.get(path(table, key));
      const html = await response.text();
      expect([response.status, html.includes(words)], `${table} ${key}`).to.deep.equal([400, true]);
      expect(html).not.to.include('<script>alert');
    }
    expect(await browser.page(`/console/why?table=orders&table=x&key=7`)).to.include('value=""');
  });

  it('is for administrators, each of their own tenant', async () => {
    const clerk = await shop.signedIn('shop', 'clerk');
    for (const address of ['/console/why', path('orders', '7')]) {
      expect((await clerk.get(address)).status).to.equal(403);
    }
    const other = await shop.signedIn('other');
    const html = await (await other.get(path('orders', '7'))).text();
    expect(html).to.include('There is no table').and.not.include('Paid orders');
  });
});
