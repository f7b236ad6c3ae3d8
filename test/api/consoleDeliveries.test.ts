import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { deliveryError } from '../../src/api/console/deliveryErrors.js';
import { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';

/** What must never arrive in a page as it is. */
const EVIL = `"><img src=x onerror=alert(1)><script>alert('x')</script>{{ 7 | times: 7 }}&amp;`;

describe('deliveries in the console', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let failed: string;
  let sent: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    const order = await shop.changeOrder(7, 'new', 'paid');
    sent = await shop.deliver(order, {
      state: 'sent',
      subject: 'Your order 7',
      recipients: ['Ada Lovelace <Ada@Example.com>', 'copy@example.com'],
    });
    failed = await shop.deliver(order, {
      state: 'failed',
      error_code: 'TEMPLATE_FAILED',
      error: `line 1: ${EVIL}`,
      subject: EVIL,
      recipients: [`${EVIL} <evil@example.com>`],
      email_type: 'receipt',
    });
    await shop.attempt(sent, {
      attempt: 1,
      outcome: 'retry',
      http_status: 503,
      error: 'come back later',
      carrier: 'smtp',
    });
    await shop.attempt(sent, { attempt: 2, outcome: 'sent', http_status: 202 });
    await shop.report(sent, { event: 'bounce', reason: `550 ${EVIL}`, url: 'javascript:alert(1)' });
  });
  after(() => shop.close());

  /** The ids in a list, in its order. */
  const listed = async (query: string): Promise<string[]> => {
    const html = await browser.page(`/console/deliveries${query}`);
    return [...html.matchAll(/class="main"><a href="\/console\/deliveries\/(\d+)"/g)].map(([, id]) => id!);
  };

  it('say that their counts are missing or old', async () => {
    const { pool } = shop.fixture.testDatabase.database;
    const OLD = 'Counts are missing or old: no relay counts.';
    for (const path of ['/console/deliveries', '/console/failures']) {
      expect(await browser.page(path), 'before any').to.include(OLD);
      await shop.count();
      expect(await browser.page(path), 'counted').not.to.include(OLD);
      await pool.query("update rowpost.delivery_count_run set counted = now() - interval '16 minutes'");
      expect(await browser.page(path), 'long ago').to.include(OLD);
      await pool.query('update rowpost.delivery_count_run set counted = null');
    }
    await shop.count();
  });

  it('are listed newest first, and found by every search field', async () => {
    const searches: [query: string, found: string[]][] = [
      ['', [failed, sent]],
      ['?to=lovelace', [sent]],
      ['?to=ada%40example', [sent]],
      ['?to=%25', []],
      ['?subject=ORDER+7', [sent]],
      ['?subject=_our', []],
      [`?subject=${encodeURIComponent(EVIL)}`, [failed]],
      ['?status=bounced', [sent]],
      ['?status=sent', []],
      ['?status=failed', [failed]],
      ['?status=held_back', []],
      ['?person=ada%40example.com', [sent]],
      ['?person=ADA%40example.com', [sent]],
      ['?person=da%40example.com', []],
      ['?person=%25', []],
      ['?state=sent', [sent]],
      ['?state=failed', [failed]],
      ['?code=TEMPLATE_FAILED', [failed]],
      ['?type=receipt', [failed]],
      ['?table=orders', [failed, sent]],
      ['?table=customer', []],
      ['?key=7', [failed, sent]],
      ['?key=70', []],
      [`?rule=${shop.ruleid}`, [failed, sent]],
      ['?rule=424242', []],
      ['?event=bounce', [sent]],
      ['?event=open', []],
      ['?from=2020-01-01T00:00&until=2020-01-02T00:00', []],
      ['?from=2020-01-01T00:00', [failed, sent]],
      ["?subject='+or+'1'+=+'1", []],
      ['?subject=\\', []],
    ];
    for (const [query, found] of searches) expect(await listed(query), query).to.deep.equal(found);
    const wrong = await browser.get('/console/deliveries?rule=x');
    expect([wrong.status, (await wrong.text()).includes('The rule must be a number.')]).to.deep.equal([
      400,
      true,
    ]);
  });

  it('are listed oldest first, where the primary key finds them', async () => {
    const crowd = await ConsoleShop.open();
    const client = await crowd.signedIn();
    await crowd.crowd(103);
    const idsIn = (html: string): number[] =>
      [...html.matchAll(/class="main"><a href="\/console\/deliveries\/(\d+)"/g)].map(([, id]) => Number(id));
    const pages: number[][] = [];
    let path: string | undefined = '/console/deliveries?within=all&order=oldest';
    const newestFirst = await client.page('/console/deliveries?within=all');
    expect(newestFirst).to.match(/aria-sort="descending"><a href="[^"]*within=all&(?:amp;)?order=oldest"/);
    while (path !== undefined) {
      const html = await client.page(path);
      expect(html).to.match(/aria-sort="ascending"><a href="\/console\/deliveries\?within=all"/);
      expect(html).not.to.include('live.js');
      pages.push(idsIn(html));
      path = /rel="next" href="([^"]+)">Newer/.exec(html)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(pages.map(({ length }) => length)).to.deep.equal([50, 50, 3]);
    const all = pages.flat();
    expect(all).to.deep.equal(all.toSorted((a, b) => a - b));
    expect(all.slice(-50).toReversed()).to.deep.equal(idsIn(newestFirst));
    // Otherwise everything before the period, or everything that doesn't match, would be read.
    for (const query of [
      '',
      '&within=week',
      '&within=all&type=confirmation',
      '&within=all&from=2020-01-01T00:00',
    ]) {
      const html = await client.page(`/console/deliveries?order=oldest${query}`);
      expect(html, query).to.include('aria-sort="descending"').and.not.include('aria-sort="descending"><a');
      expect(
        idsIn(html).toSorted((a, b) => b - a),
        query,
      ).to.deep.equal(idsIn(html));
    }
    await crowd.close();
  });

  it('are found by recipient while held back, and number attempts separately after a redrive', async () => {
    const crowd = await ConsoleShop.open();
    const client = await crowd.signedIn();
    const order = await crowd.changeOrder(7, 'new', 'paid');
    const error = 'every recipient is suppressed: eve@example.com (bounce)';
    const held = await crowd.deliver(order, {
      state: 'skipped',
      error_code: 'SUPPRESSED',
      error,
      recipients: null,
    });
    await crowd.deliver(order, { state: 'failed', error_code: 'TEMPLATE_FAILED', error, recipients: null });
    const html = await client.page('/console/deliveries?to=eve@example');
    expect(
      [...html.matchAll(/class="main"><a href="\/console\/deliveries\/(\d+)"/g)].map(([, id]) => id),
    ).to.deep.equal([held]);
    expect(html).to.include('It was not written, so nobody knows for whom.');
    const outcomes = ['failed', 'redriven', 'sent'];
    for (const [index, outcome] of outcomes.entries())
      await crowd.attempt(held, { attempt: index + 1, outcome });
    expect(await client.page(`/console/deliveries/${held}`))
      .to.include('Attempt 1: Failed')
      .and.include('Attempt 2: Accepted by the carrier')
      .and.not.include('Attempt 3');
    await crowd.close();
  });

  it('are found by whom they were meant for, whatever became of them', async () => {
    const crowd = await ConsoleShop.open();
    const client = await crowd.signedIn();
    const order = await crowd.changeOrder(7, 'new', 'paid');
    const held = await crowd.deliver(order, {
      state: 'skipped',
      error_code: 'NO_VALID_RECIPIENT',
      error: 'no valid recipient',
      intended: ['Zoe Bad <zoe at example>', EVIL],
      recipients: null,
    });
    await crowd.deliver(order, { state: 'sent', recipients: ['ada@example.com'] });
    for (const to of ['zoe', 'bad', 'zoe at', EVIL]) {
      const html = await client.page(`/console/deliveries?${new URLSearchParams({ to }).toString()}`);
      expect(
        [...html.matchAll(/class="main"><a href="\/console\/deliveries\/(\d+)"/g)].map(([, id]) => id),
        to,
      ).to.deep.equal([held]);
      expect(html)
        .to.include('Zoe Bad &lt;zoe at example&gt;')
        .and.include('>confirmation for order_id = 7</a>')
        .and.include('Held back')
        .and.include('>Not an address</a>')
        .and.not.match(/<img|<script>alert/);
    }
    expect(await client.page(`/console/deliveries/${held}`))
      .to.include('<h1>confirmation for order_id = 7</h1>')
      .and.include('Zoe Bad &lt;zoe at example&gt;')
      .and.include('Correct the address in the row, then send again.')
      .and.not.match(/<img|<script>alert/);
    await crowd.close();
  });

  it('have the status that was reported last, in title, list and counts', async () => {
    const crowd = await ConsoleShop.open();
    const client = await crowd.signedIn();
    const order = await crowd.changeOrder(7, 'new', 'paid');
    // May have been sent, and was: no longer a cause.
    const arrived = await crowd.deliver(order, { state: 'unknown', error_code: 'OUTCOME_UNKNOWN' });
    await crowd.report(arrived, { event: 'delivered' });
    const spam = await crowd.deliver(order, { state: 'sent' });
    await crowd.report(spam, { event: 'spamreport' });
    await crowd.count();
    expect(await client.page('/console/deliveries'))
      .to.include('<span class="state delivered">Delivered</span>')
      .and.include('<span class="state complained">Complained</span> <strong>1</strong>')
      .and.not.include('It may have been sent');
    expect(await client.page(`/console/deliveries/${arrived}`))
      .to.include('<span class="state delivered">Delivered</span>')
      .and.not.include('id="why"');
    expect(await client.page(`/console/deliveries/${spam}`))
      .to.include('<span class="state complained">Complained</span>')
      .and.include('<h2 id="why">Reported as spam</h2>');
    expect(await client.page('/console/failures'))
      .to.include('Reported as spam')
      .and.not.include('OUTCOME_UNKNOWN');
    await crowd.close();
  });

  it('are paged by keyset in the database', async () => {
    const crowd = await ConsoleShop.open();
    const client = await crowd.signedIn();
    const order = await crowd.changeOrder(7, 'new', 'paid');
    const ids: string[] = [];
    for (let i = 0; i < 120; i++)
      ids.unshift(await crowd.deliver(order, { state: 'sent', subject: `email ${i}` }));
    const seen: string[] = [];
    let address: string | undefined = '/console/deliveries?state=sent';
    let pages = 0;
    while (address !== undefined && pages < 10) {
      const html: string = await client.page(address);
      seen.push(
        ...[...html.matchAll(/class="main"><a href="\/console\/deliveries\/(\d+)"/g)].map(([, id]) => id!),
      );
      address = /rel="next" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
      pages += 1;
    }
    expect([seen, pages]).to.deep.equal([ids, 3]);
    await crowd.close();
  });

  it('are searched in bounded steps, each showing how far it got and a link to continue', async () => {
    const crowd = await ConsoleShop.open();
    const client = await crowd.signedIn();
    const order = await crowd.changeOrder(7, 'new', 'paid');
    const oldest = await crowd.deliver(order, { state: 'sent', subject: 'the oldest' });
    await crowd.crowd(2_000);
    const html = await client.page('/console/deliveries?subject=the+oldest');
    expect(html).to.include('Searched the newest 1,500').and.include('None of them matches');
    const further =
      /href="([^"]+below=[^"]*)">Search those before them/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(await client.page(further))
      .to.include(`/console/deliveries/${oldest}`)
      .and.not.include('Searched the newest');
    expect(await client.page('/console/deliveries?subject=the+oldest&state=failed')).to.include(
      'No delivery matches',
    );
    await crowd.close();
  });

  it('are searched as far as lists are long, if that is less', async () => {
    const crowd = await ConsoleShop.open({ LIST_MAX_LIMIT: '60' });
    const client = await crowd.signedIn();
    const order = await crowd.changeOrder(7, 'new', 'paid');
    const oldest = await crowd.deliver(order, { state: 'sent', subject: 'the oldest' });
    await crowd.crowd(250);
    const html = await client.page('/console/deliveries?subject=the+oldest');
    expect(html).to.include('Searched the newest 180');
    const further = /href="([^"]+below=[^"]*)">Search those before them/.exec(html)?.[1] ?? '';
    expect(await client.page(further.replaceAll('&amp;', '&'))).to.include(`/console/deliveries/${oldest}`);
    await crowd.close();
  });

  it('are counted by state in whole hours, with failures grouped by cause', async () => {
    await shop.count();
    expect(await browser.page('/console/deliveries')).to.match(/<li>Since <time datetime="[^"]+:00:00.000Z"/);
    expect(await browser.page('/console/deliveries')).to.match(
      /<span class="state failed">Failed<\/span> <strong>1<\/strong>/,
    );
    expect(await browser.page('/console/deliveries')).to.match(
      /<a href="\/console\/deliveries\?status=bounced"><span class="state bounced">Bounced<\/span> <strong>1<\/strong>/,
    );
    const html = await browser.page('/console/failures');
    expect(html)
      .to.include('/console/deliveries?status=failed&amp;code=TEMPLATE_FAILED')
      .and.include('Correct the template at the given line and column')
      .and.match(
        /<dt>The latest<\/dt><dd><a href="\/console\/deliveries\/\d+">receipt, delivery \d+<\/a>: line 1: &#34;/,
      )
      .and.include('/console/deliveries?status=bounced')
      .and.include('Ask the recipient for another address.')
      .and.include('<span class="number">1</span>');
  });

  it('have a timeline from the change to what the provider reports', async () => {
    const html = await browser.page(`/console/deliveries/${sent}`);
    const order = [
      'Row changed: orders order_id = 7',
      'Rule “Paid orders” matched',
      'Attempt 1: Failed, will be retried',
      '<dt>Carrier</dt><dd>smtp</dd>',
      'come back later',
      'Attempt 2: Accepted by the carrier',
      '<h3>Bounced',
    ].map((text) => html.indexOf(text));
    expect(order, 'all there, in order')
      .to.deep.equal([...order].sort((a, b) => a - b))
      .and.not.include(-1);
    expect(html).to.match(/<tr class="changed">\s*<th scope="row">status<\/th>\s*<td>new<\/td>\s*<td>paid/);
    expect(html)
      .to.include('Only if')
      .and.include('<dt>By</dt><dd>root</dd>')
      .and.include('new.status = &#39;paid&#39;');
    expect(html).to.include('<td>12345678901234567890.50</td>');
  });

  it('lead to the email and the rule that made them', async () => {
    const html = await browser.page(`/console/deliveries/${sent}`);
    const links = [...html.matchAll(/<dd><a href="(\/console\/(?:emails|rules)\/edit[^"]*)">/g)].map(
      ([, link]) => link!,
    );
    expect(links).to.have.length(2);
    for (const link of links) expect((await browser.get(link)).status, link).to.equal(200);
    const renamed = await browser.page(`/console/deliveries/${failed}`);
    expect(renamed, 'the rule sends another email by now').to.include('<dt>Email</dt><dd>receipt</dd>');
  });

  it('show the email as it would be rendered now, in a sandboxed frame', async () => {
    const html = await browser.page(`/console/deliveries/${sent}/email`);
    expect(html).to.match(
      new RegExp(`<iframe [^>]*src="/console/deliveries/${sent}/email/body" sandbox></iframe>`),
    );
    expect(html).to.include('Order 7 is paid').and.include('shop@example.com');
    const body = await browser.get(`/console/deliveries/${sent}/email/body`);
    expect(body.headers.get('content-security-policy'))
      .to.match(/^sandbox; default-src 'none'/)
      .and.not.include('script');
    expect(await body.text()).to.include('<h1>Thank you, &lt;b&gt;Ada');
    const deleted = await browser.page(`/console/deliveries/${failed}/email`).catch(String);
    expect(deleted).to.include('404').and.include('role="alert"');
  });

  it('escape all data', async () => {
    for (const path of [
      '/console/deliveries',
      `/console/deliveries?${new URLSearchParams({ to: EVIL, code: EVIL, key: EVIL, type: EVIL, table: EVIL, from: '' }).toString()}`,
      `/console/deliveries/${failed}`,
      `/console/deliveries/${sent}`,
      `/console/deliveries/${failed}/redrive`,
      `/console/deliveries/${sent}/email`,
      '/console/failures',
    ]) {
      const html = await browser.page(path);
      expect(html, path).not.to.match(/<img|<script>|alert\('x'\)|<b>Ada|href="javascript/i);
      // Data is no template either.
      expect(html, path).not.to.match(/&gt;49&/);
    }
  });

  it('are redriven after a confirmation, by a form of this session only', async () => {
    const question = await browser.page(`/console/deliveries/${failed}/redrive`);
    expect(question).to.include('Send again?').and.include('method="post"');
    const csrf = await browser.csrf(`/console/deliveries/${failed}/redrive`);
    const path = `/console/deliveries/${failed}/redrive`;
    expect((await browser.post(path, {})).status).to.equal(403);
    expect((await browser.post(path, { csrf }, { origin: 'https://evil.example' })).status).to.equal(403);
    expect(await listed('?state=failed')).to.deep.equal([failed]);
    const done = await browser.post(path, { csrf });
    expect(done.headers.get('location')).to.equal(`/console/deliveries/${failed}?done=redriven`);
    const html = await browser.page(done.headers.get('location') ?? '');
    expect(html)
      .to.include('It is being sent again.')
      .and.include('Sent again by hand')
      .and.include('was failed');
    expect(await listed('?state=failed')).to.deep.equal([]);
    const again = await browser.post(path, { csrf });
    expect(again.status).to.be.within(400, 499);
    const ended = await new ConsoleBrowser(shop.fixture).post(path, { csrf });
    expect([ended.status, (await ended.text()).includes('Your session has ended.')]).to.deep.equal([
      401,
      true,
    ]);
  });

  it('are redriven by search, a thousand at a time, after showing their number', async () => {
    const crowd = await ConsoleShop.open();
    const client = await crowd.signedIn();
    const order = await crowd.changeOrder(7, 'new', 'paid');
    for (const subject of ['one', 'two'])
      await crowd.deliver(order, { state: 'failed', error_code: 'CARRIER_400', subject });
    const other = await crowd.deliver(order, {
      state: 'failed',
      error_code: 'EMAIL_TOO_LARGE',
      subject: 'large',
    });
    const path = '/console/deliveries/redrive?status=failed&code=CARRIER_400';
    await crowd.count();
    expect(await client.page('/console/failures')).to.include(path.replaceAll('&', '&amp;'));
    const question = await client.page(path);
    expect(question)
      .to.include(
        '<strong>2</strong> deliveries of this search, <em>The carrier rejected the email</em>, since',
      )
      .and.include('Send 2 again');
    const csrf = await client.csrf(path);
    expect((await client.post(path, {})).status).to.equal(403);
    const done = await client.post(path, { csrf });
    expect(done.headers.get('location')).to.equal(`${path}&done=2`);
    expect(await client.page(done.headers.get('location') ?? ''))
      .to.include('2 deliveries are being sent again')
      .and.include('<h1>Sent again</h1>')
      .and.include('This search finds nothing else');
    const left = await client.page('/console/deliveries?state=failed');
    expect(left).to.include(other).and.not.include('>one<');
    await crowd.close();
  });

  it('lead from what failed to the email that has to be corrected', async () => {
    const other = await ConsoleShop.open();
    const admin = await other.signedIn();
    const made = await other.fixture.control(
      other.root,
      `mutation { create_email_type(input: { email_type: "broken", subject: "x", template: "{{ records.new.none.none }}",
         sender: "shop@example.com", recipients: ["ada@example.com"] }) { email_type } }`,
    );
    expect(made.errors).to.equal(undefined);
    const order = await other.changeOrder(7, 'new', 'paid');
    const broken = { state: 'failed', error_code: 'TEMPLATE_FAILED', email_type: 'broken' };
    const id = await other.deliver(order, broken);
    await other.count();
    const link = '<a href="/console/emails/edit?type=broken">Open broken in the editor</a>';
    for (const path of ['/console/failures', `/console/deliveries/${id}/email`])
      expect(await admin.page(path), path)
        .to.include(link)
        .and.not.include('The email that was sent');
    const viewer = await other.signedIn('shop', 'viewer');
    expect(await viewer.page('/console/failures'))
      .to.include('broken, delivery')
      .and.not.include('/console/emails/edit');
    await other.close();
  });

  it('are visible to a role with view_delivery, without rows, rules or actions', async () => {
    const viewer = await shop.signedIn('shop', 'viewer');
    expect(await viewer.page('/console/deliveries?state=sent'))
      .to.include('Your order 7')
      .and.not.include('/console/emails');
    const html = await viewer.page(`/console/deliveries/${sent}`);
    expect(html)
      .to.include('Attempt 2: Accepted by the carrier')
      .and.not.match(/12345678901234567890|Send again|Preview the email|Paid orders|new\.status/);
    expect((await viewer.get('/console/failures')).status).to.equal(200);
    for (const path of [
      `deliveries/${sent}/email`,
      'emails',
      'emails/edit',
      'emails/versions?type=confirmation',
      'rules',
      'why',
    ]) {
      expect((await viewer.get(`/console/${path}`)).status, path).to.equal(403);
    }
    const csrf = await viewer.csrf('/console/deliveries');
    for (const path of [
      `deliveries/${sent}/redrive`,
      'deliveries/redrive?state=failed',
      'emails/edit',
      'emails/preview',
      'rules/edit',
    ]) {
      expect((await viewer.post(`/console/${path}`, { csrf, action: 'save' })).status, path).to.equal(403);
    }
    const token = (await shop.fixture.signIn(shop.tenantid, 'viewer', 'secret of the clerk')).access_token;
    const response = await shop.fixture.control(
      token,
      '{ email_delivery { deliveryid email_attempt_collection { attempt } } Aggregates { count(subquery: "{ email_delivery { deliveryid } }") } }',
    );
    const rows = response.data?.['email_delivery'] as { email_attempt_collection: unknown[] }[];
    expect(rows.some((row) => row.email_attempt_collection.length > 0)).to.equal(true);
    const theirs = await shop.fixture.control(token, '{ email_delivery { change { old new } } }');
    expect(theirs.errors?.[0]?.extensions.code).to.equal('PERMISSION_DENIED');
  });

  it("are hidden from other tenants and from roles without the capability, which can't redrive them", async () => {
    const other = await shop.signedIn('other');
    const clerk = await shop.signedIn('shop', 'clerk');
    for (const path of [sent, `${sent}/email`, `${sent}/email/body`, `${sent}/redrive`]) {
      const [theirs, without] = await Promise.all(
        [other, clerk].map((client) => client.get(`/console/deliveries/${path}`)),
      );
      expect([theirs?.status, without?.status], path).to.deep.equal([404, 403]);
      expect(await theirs?.text(), path).not.to.match(/\bAda\b/);
      expect(await without?.text(), path).not.to.match(/\bAda\b/);
    }
    expect(await other.page('/console/deliveries?within=all')).to.include('No deliver');
    for (const path of ['/console/deliveries', '/console/failures']) {
      expect((await clerk.get(path)).status, path).to.equal(403);
    }
    const theirs = { csrf: await other.csrf('/console/deliveries') };
    const refused = await other.post(`/console/deliveries/${sent}/redrive`, theirs);
    expect(refused.status).to.equal(404);
    const ofClerk = /name="csrf" value="([^"]+)"/.exec(await (await clerk.get('/console/deliveries')).text());
    const without = await clerk.post(`/console/deliveries/${sent}/redrive`, { csrf: ofClerk![1]! });
    expect(without.status).to.equal(403);
    expect(await listed('?state=sent')).to.deep.equal([sent]);
  });

  it('survive any input in the search fields', async () => {
    const fields = [
      'to',
      'subject',
      'status',
      'person',
      'state',
      'code',
      'type',
      'rule',
      'table',
      'key',
      'event',
      'within',
      'from',
      'until',
      'below',
      'depth',
    ];
    const pages = ['/console/deliveries', '/console/failures', '/console/deliveries/redrive'];
    const values = ['xx', '%00', '%E0%A4%A', "'", '9'.repeat(40), '-1', '[]'];
    // Each field with each value, on one of the pages.
    for (const [f, field] of fields.entries()) {
      for (const [v, value] of values.entries()) {
        const url = `${pages[(f + v) % pages.length]!}?${field}=${value}`;
        expect((await browser.get(url)).status, url).to.be.below(500);
      }
    }
    expect((await browser.get('/console/%E0%A4%A')).status).to.equal(404);
  });

  it('explain each error code as docs/reference/errors.md does', () => {
    const docs = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8');
    const table = docs.slice(docs.indexOf('## Codes of deliveries'));
    const rows = table.split('\n').filter((line) => /^\| `[A-Z]/.test(line));
    expect(rows.length).to.be.greaterThan(30);
    for (const row of rows) {
      const [codes = '', , why = '', whatToDo = ''] = row.slice(2, -2).split(' | ');
      const plain = (text: string): string => {
        const words = text.replaceAll('`error`', 'the message').replaceAll('`', '');
        return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
      };
      for (const [, code = ''] of codes.matchAll(/`([A-Z][A-Z_0-9]+)`/g)) {
        const { title, ...explained } = deliveryError(code);
        expect(explained, code).to.deep.equal({ why: plain(why), whatToDo: plain(whatToDo) });
        expect(title, code).to.match(/^[A-Z][^.]{5,60}$/);
      }
    }
    expect(deliveryError('CARRIER_418').whatToDo).to.equal('Fix what the message says.');
    for (const code of [
      'CARRIER_599',
      'CARRIER_302',
      'CARRIER_408',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'ERR_SOCKET_CLOSED',
    ])
      expect(deliveryError(code), code).to.deep.equal(deliveryError('ECONNREFUSED'));
    expect(deliveryError('UNKNOWN_ROLE')).to.deep.equal(deliveryError('GRAPHQL_VALIDATION'));
  });
});
