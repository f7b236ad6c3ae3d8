import { expect } from 'chai';
import { recordEmailEvents } from '../../src/db/email/emailEvents.js';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';

const EVIL = `"><img src=x onerror=alert(1)><script>alert('x')</script>{{ 7 | times: 7 }}`;

describe('a person in the console', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let order: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    order = await shop.changeOrder(7, 'new', 'paid');
  });
  after(() => shop.close());

  const address = (of: string): string =>
    `/console/person?${new URLSearchParams({ address: of }).toString()}`;
  const person = (of: string, as = browser): Promise<string> => as.page(address(of));
  const listed = (html: string): string[] =>
    [...html.matchAll(/class="main"><a href="\/console\/deliveries\/(\d+)"/g)].map(([, id]) => id!);

  it('has all email that was meant for exactly the address, with what became of it', async () => {
    const sent = await shop.deliver(order, { state: 'sent', recipients: ['Ada <Ada@Example.com>'] });
    await shop.report(sent, { event: 'bounce', reason: '550 no such user' });
    const copied = await shop.deliver(order, {
      state: 'failed',
      error_code: 'TEMPLATE_FAILED',
      intended: ['Bob <bob@example.com>', 'ada@example.com'],
      subject: 'A copy',
    });
    await shop.deliver(order, { state: 'sent', recipients: ['nada@example.com', 'ada@example.com.au'] });
    for (const of of ['ada@example.com', 'ADA@example.com', 'Ada <ada@example.com>']) {
      const html = await person(of);
      expect(listed(html), of).to.deep.equal([copied, sent]);
      expect(html)
        .to.include('The address is neither suppressed nor unsubscribed.')
        .and.include('Is one missing? <a href="/console/why?person=ada%40example.com">')
        .and.include('550 no such user')
        .and.match(/The template failed<\/a>\. A template failed/)
        .and.match(/Bounced<\/a>\. The receiving server did not take the email/);
    }
    const page = await browser.page(`/console/deliveries/${copied}`);
    for (const [, link = ''] of page.matchAll(/href="(\/console\/person\?[^"]*)"/g))
      expect(listed(await browser.page(link.replaceAll('&amp;', '&'))), link).to.include(copied);
  });

  it('is found by what is no address, and by a part of the name', async () => {
    const held = await shop.deliver(order, {
      state: 'skipped',
      error_code: 'NO_VALID_RECIPIENT',
      error: 'not an address: "<zoe at example>"',
      intended: ['Zoe Bad <zoe at example>'],
    });
    const found = await browser.get(address('zoe'));
    expect(found.status, 'only one is meant').to.equal(302);
    const html = await browser.page(found.headers.get('location') ?? '');
    expect(listed(html)).to.deep.equal([held]);
    expect(html)
      .to.include('<q>not an address: &#34;&lt;zoe at example&gt;&#34;</q>')
      .and.include('Correct the address in the row');
    await shop.deliver(order, { state: 'sent', recipients: ['Zoe Good <zoe@example.com>'] });
    const several = await person('zoe');
    expect(listed(several)).to.deep.equal([]);
    expect(several)
      .to.include('Email was meant for several people like this')
      .and.match(/<a href="\/console\/person\?[^"]+">Zoe Bad/)
      .and.match(/<a href="\/console\/person\?[^"]+">Zoe Good/);
    for (const name of ['zoe', 'Zacharias'])
      expect(await person(name), 'a name is not an address').not.to.include('neither suppressed');
  });

  it('is one of the first fifty with the text', async () => {
    const intended = Array.from({ length: 1_000 }, (_, n) => `x${n}@many.example`);
    await shop.deliver(order, { state: 'failed', intended });
    expect((await person('@many')).match(/@many\.example<\/a>/g)).to.have.length(50);
  });

  it('says when email that waits is tried again', async () => {
    await shop.deliver(order, {
      state: 'retrying',
      error_code: 'ETIMEDOUT',
      intended: ['Grace <grace@example.com>'],
      next_attempt: '2099-12-31T23:59:58Z',
    });
    expect(await person('grace@example.com'))
      .to.include('<h2 id="causes">Why something did not arrive, or waits</h2>')
      .and.match(/It waits, and is tried again <time[^>]*>2099-12-31 23:59:58 UTC<\/time>/);
    expect(await person('ada@example.com')).not.to.include('is tried again');
  });

  it('has why it gets no email, and when nothing was meant for it', async () => {
    await shop.fixture.control(
      shop.root,
      `mutation {
        create_email_suppression(input: { address: "eve@example.com", reason: "asked by phone" }) { address }
        create_email_unsubscribe(input: { address: "eve@example.com", email_types: ["confirmation"] }) { address }
      }`,
    );
    expect(await person('Eve <eve@example.com>'))
      .to.include('This address gets no email')
      .and.include('It is suppressed, added by hand: asked by phone.')
      .and.include('Nothing, if it is what the person wants.')
      .and.include('Unsubscribed from confirmation')
      .and.include('No email was meant for exactly this address')
      .and.include('href="/console/why?person=eve%40example.com"')
      .and.not.include('Ask for another address');
  });

  it('leads to a form that stops all email to it', async () => {
    const html = await person('Stop Me <stop+me@example.com>');
    const [, link = ''] = /<a href="([^"]+)#address">Stop all email to it/.exec(html)!;
    const form = await browser.page(link.replaceAll('&amp;', '&'));
    expect(form).to.include('name="address" type="email" value="stop+me@example.com"');
    await browser.post('/console/addresses', {
      csrf: await browser.csrf('/console/addresses'),
      list: 'suppressed',
      action: 'add',
      address: 'stop+me@example.com',
      note: '',
    });
    expect(await person('stop+me@example.com'))
      .to.include('This address gets no email')
      .and.not.include('Stop all email to it');
  });

  it('has who added it to the lists and removed it, and what was removed', async () => {
    const bounced = await shop.deliver(order, { state: 'sent', recipients: ['moe@example.com'] });
    const { ledger } = shop.fixture.testDatabase.database;
    await recordEmailEvents(
      ledger,
      shop.tenantid,
      [
        {
          deliveryid: bounced,
          providerEventId: 'a bounce',
          event: 'bounce',
          time: new Date(Date.now() - 60_000).toISOString(),
          recipient: 'moe@example.com',
          reason: '550 <b>unknown</b>',
          status: '5.1.1',
          type: 'bounce',
          url: null,
          suppress: { address: 'moe@example.com', source: 'bounce' },
        },
      ],
      null,
    );
    expect(await person('moe@example.com')).not.to.include('Who changed whether');
    for (const mutation of [
      'delete_email_suppression(address: "moe@example.com") { address }',
      'create_email_suppression(input: { address: "moe@example.com", reason: "by phone" }) { address }',
      'create_email_unsubscribe(input: { address: "moe@example.com", email_types: ["a", "b"] }) { address }',
      'delete_email_unsubscribe(address: "moe@example.com") { address }',
    ])
      expect((await shop.fixture.control(shop.root, `mutation { ${mutation} }`)).errors).to.equal(undefined);
    const [, history = ''] = (await person('moe@example.com')).split('id="history"');
    const entries = [...history.split('</section>')[0]!.matchAll(/<li>([\s\S]*?)<\/li>/g)].map(
      ([, text = '']) =>
        text
          .replaceAll(/<time[^>]*>[^<]*<\/time>/g, 'then')
          .replaceAll(/\s+/g, ' ')
          .trim(),
    );
    expect(entries).to.deep.equal([
      'then: root subscribed it again to a, b, from which it was unsubscribed since then by hand',
      'then: root unsubscribed it from a, b',
      'then: root suppressed it: by phone',
      `then: root removed it from the suppressed addresses, where it was since then because an email to it bounced: 550 &lt;b&gt;unknown&lt;/b&gt; (<a href="/console/deliveries/${bounced}">the email</a>)`,
    ]);
    expect(await browser.page('/console/addresses')).to.include(
      '/console/person?address=moe%40example.com#history',
    );
  });

  it('leads to older email by a link that keeps the person', async () => {
    const client = await shop.signedIn('other');
    await client.page('/console/person');
    for (let count = 0; count < 51; count += 1)
      await shop.deliver(order, { state: 'sent', recipients: ['many@example.com'] });
    const html = await person('many@example.com');
    expect(listed(html)).to.have.length(50);
    const all = /<a class="button" href="([^"]+)">All of them/.exec(html)?.[1] ?? '';
    const list = await browser.page(all.replaceAll('&amp;', '&'));
    expect(listed(list)).to.have.length(50);
    expect(list).to.include('<input type="hidden" name="person" value="many@example.com">');
    expect(listed(await person('many@example.com', client)), 'of another tenant').to.deep.equal([]);
  });

  it('is shown to a role with view_delivery without the lists of addresses, and to nobody else', async () => {
    const viewer = await shop.signedIn('shop', 'viewer');
    const html = await person('eve@example.com', viewer);
    expect(html)
      .to.include('No email was meant for')
      .and.not.match(/asked by phone|suppressed|console\/why/);
    expect(listed(await person('ada@example.com', viewer))).to.have.length(2);
    const clerk = await shop.signedIn('shop', 'clerk');
    for (const query of ['', '?address=ada@example.com'])
      expect((await clerk.get(`/console/person${query}`)).status, query).to.equal(403);
  });

  it('escapes all data, and survives any input', async () => {
    const evil = await shop.deliver(order, {
      state: 'sent',
      subject: EVIL,
      recipients: [`${EVIL} <evil@example.com>`],
      email_type: EVIL,
    });
    await shop.report(evil, { event: 'spamreport', recipient: 'evil@example.com', reason: EVIL });
    await shop.deliver(order, { state: 'sent', recipients: [`${EVIL} <further@example.com>`] });
    for (const of of ['evil@example.com', EVIL, 'onerror']) {
      const html = await person(of);
      expect(html, of).not.to.match(/<img|<script>alert|&gt;49&/);
    }
    for (const value of ['%00', '%E0%A4%A', "'", '%25', '_', '\\', '9'.repeat(400), '<>', '[]'])
      expect((await browser.get(`/console/person?address=${value}&within=${value}`)).status).to.be.below(500);
  });
});
