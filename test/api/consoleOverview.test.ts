import { expect } from 'chai';
import { countDeliveries } from '../../src/db/ledger/countDeliveries.js';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { PXADMIN_PASSWORD } from './webFixture.js';

describe('the overview of the console', () => {
  let shop: ConsoleShop;
  let root: ConsoleBrowser;
  before(async () => {
    shop = await ConsoleShop.open();
    root = await shop.signedIn();
  });
  after(() => shop.close());

  const count = (): Promise<void> => countDeliveries(shop.fixture.testDatabase.database.pool);

  it('is the first page, to which / leads browsers and nobody else', async () => {
    expect((await root.get('/')).headers.get('location')).to.equal('/console');
    expect((await root.get('/console')).headers.get('location')).to.equal('/console/overview');
    const asJson = await root.get('/', { accept: 'application/json' });
    expect(asJson.headers.get('location')).to.equal('/query');
  });

  it('says that all is well, without a delivery and without what only admins may see', async () => {
    await count();
    const html = await root.page('/console/overview');
    expect(html).to.contain('Nothing to send today so far.').and.to.contain('No email yet.');
    const viewer = await shop.signedIn('shop', 'viewer');
    expect(await viewer.page('/console/overview?days=30')).to.contain(
      'Nothing to send in these 30 days so far.',
    );
    const clerk = await shop.signedIn('shop', 'clerk');
    expect((await clerk.get('/console/overview')).status).to.equal(403);
  });

  it('does not say that all is well if some did not arrive', async () => {
    const other = await ConsoleShop.open();
    try {
      const order = await other.changeOrder(7, 'new', 'paid');
      const held = { createtime: new Date(), state: 'skipped', error_code: 'NO_VALID_RECIPIENT' };
      await other.deliver(order, held);
      await countDeliveries(other.fixture.testDatabase.database.pool);
      expect(await (await other.signedIn()).page('/console/overview'))
        .to.include('Sending works.')
        .and.include('Not all arrived: <a href="/console/failures">1 held back</a>.')
        .and.not.include('All is well')
        .and.not.include('none reported');
      const now = { createtime: new Date(), state: 'sent', sent_time: new Date() };
      await other.deliver(order, { ...now, carrier: 'sendgrid' });
      await other.deliver(order, { ...held, state: 'failed', error_code: 'TEMPLATE_FAILED' });
      await countDeliveries(other.fixture.testDatabase.database.pool);
      expect(await (await other.signedIn()).page('/console/overview'))
        .to.include('1 email failed.')
        .and.include('Of the rest, not all arrived: <a href="/console/failures">1 held back</a>.')
        .and.match(/Delivered<\/span>\s*<span class="amount">0<\/span>\s*<span class="quiet">none reported</);
    } finally {
      await other.close();
    }
  });

  it('shows figures that lead to lists with as many deliveries, and what is wrong', async () => {
    const order = await shop.changeOrder(7, 'new', 'paid');
    const now = { createtime: new Date() };
    for (const reports of [[], ['delivered'], ['delivered', 'open'], ['bounce'], ['spamreport']]) {
      const id = await shop.deliver(order, {
        ...now,
        state: 'sent',
        carrier: 'sendgrid',
        sent_time: new Date(),
      });
      for (const event of reports) await shop.report(id, { event, provider_event_id: event });
    }
    await shop.deliver(order, { ...now, state: 'failed', error_code: 'TEMPLATE_FAILED' });
    await shop.deliver(order, { ...now, state: 'skipped', error_code: 'SUPPRESSED' });
    await shop.deliver(order, { ...now, state: 'retrying', error_code: 'CARRIER_UNAVAILABLE' });
    await shop.deliver(order, { ...now, state: 'pending' });
    const yesterday = new Date(Date.now() - 24 * 3_600_000);
    await shop.deliver(order, { createtime: yesterday, state: 'pending', email_type: '<b>other</b>' });
    await count();

    const html = await root.page('/console/overview?days=7');
    const tiles = [
      ...html.matchAll(
        /class="sheet tile \w+" href="([^"]+)">\s*<span class="label">([^<]+)<\/span>\s*<span class="amount">(\d+)/g,
      ),
    ];
    expect(Object.fromEntries(tiles.map(([, , label, amount]) => [label, Number(amount)]))).to.deep.equal({
      Sent: 5,
      Delivered: 2,
      Bounced: 1,
      Complained: 1,
      Failed: 1,
      'Held back': 1,
      Scheduled: 3,
    });
    for (const [, address = '', label, amount] of tiles) {
      const list = await root.page(address.replaceAll('&amp;', '&'));
      expect(list.match(/<td role="cell" class="main">/g)?.length, label).to.equal(Number(amount));
    }
    expect(html).to.contain('2 things need a look').and.to.contain('1 email failed.');
    expect(html).to.contain('1 email waited for more than an hour.');
    expect(html).to.contain('&lt;b&gt;other&lt;/b&gt;').and.not.to.contain('<b>other</b>');
    expect(html)
      .to.match(/<a href="[^"]*code=TEMPLATE_FAILED[^"]*">/)
      .and.to.contain('SendGrid');
    // Without the ones before, nothing is late of today.
    expect(await root.page('/console/overview')).to.contain('<strong>1</strong>');
  });

  it('stands in short on the pages of an email and of a rule', async () => {
    for (const path of ['/console/emails/edit?type=confirmation', `/console/rules/edit?id=${shop.ruleid}`])
      expect(await root.page(path)).to.contain('In 30 days: 5 sent, 2 (40 %) delivered, 1 (20 %) bounced');
    expect(await root.page('/console/rules/edit')).not.to.contain('In 30 days');
  });

  it('says what stops all email', async () => {
    const { pool } = shop.fixture.testDatabase.database;
    await pool.query(
      `update rowpost.email_apikey set paused_code = 'KEY', paused_reason = 'The key is wrong.' where tenantid = $1`,
      [shop.tenantid],
    );
    expect(await root.page('/console/overview')).to.contain('Sending is paused: The key is wrong.');
    await pool.query('update rowpost.email_apikey set paused_code = null where tenantid = $1', [
      shop.tenantid,
    ]);
    await pool.query('update rowpost.email_rule set enabled = false where tenantid = $1', [shop.tenantid]);
    expect(await root.page('/console/overview')).to.contain('No rule is enabled');
    await pool.query("update rowpost.delivery_count_run set counted = now() - interval '16 minutes'");
    expect(await root.page('/console/overview')).to.contain('no relay counts');
    const other = await shop.signedIn('other');
    const html = await other.page('/console/overview');
    expect(html).to.contain('There is no carrier yet').and.not.to.contain('confirmation');
  });

  it('shows pxadmin the tenants and the processes', async () => {
    const pxadmin = await shop.signedIn('0', 'pxadmin', PXADMIN_PASSWORD);
    const html = await pxadmin.page('/console/overview');
    expect(html)
      .to.match(/<th scope="row">shop/)
      .and.to.contain('No relay is connected');
  });
});
