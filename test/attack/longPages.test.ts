import { expect } from 'chai';
import type { ConsoleBrowser } from '../api/consoleBrowser.js';
import { ConsoleShop } from '../api/consoleShop.js';
import { watchEventLoop } from '../support/loopBlocks.js';

/** PostgreSQL has at most 1,600. */
const COLUMNS = 1_580;
const LABELS = 200;
const KEYLESS = 60;

describe('attack: pages of the console that take long to make', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    const columns = Array.from({ length: COLUMNS }, (_, index) => `c${index.toString(36)} int`).join(', ');
    const labels = Array.from({ length: LABELS }, (_, index) => `'l${index}'`).join(', ');
    const menus = Array.from({ length: LABELS - 1 }, (_, index) => `c${index} label`).join(', ');
    await shop.sql(
      `create table wide (id int primary key, ${columns});
       insert into wide (id) select generate_series(1, 60);
       create type label as enum (${labels});
       create table menus (id int primary key, ${menus});
       create table hub (id int primary key);
       insert into hub values (7);
       ${Array.from({ length: KEYLESS }, (_, index) => `create table keyless_${index} (hub int references hub)`).join(';')}`,
    );
    await shop.fixture.control(shop.root, '{ Utility { introspect } }');
  });
  after(() => shop.close());

  /** @returns the page, and for how long others waited at most, in CPU time */
  const make = async (send: () => Promise<Response>): Promise<{ html: string; longestMs: number }> => {
    // Templates are parsed once.
    await (await send()).text();
    const longestMs = watchEventLoop();
    const response = await send();
    const html = await response.text();
    expect(response.status, html).to.equal(200);
    return { html, longestMs: longestMs() };
  };

  it('because a table has very many columns', async () => {
    const { html, longestMs } = await make(() => browser.get('/console/tables/wide/rows'));
    expect(html.match(/<td/g)).to.have.length(50 * (COLUMNS + 2));
    expect(longestMs).to.be.below(150);
  });

  it('because each row of a condition repeats all columns and labels', async () => {
    const values: Record<string, string> = {
      csrf: await browser.csrf('/console/rules/edit'),
      view: 'rows',
      action: 'show',
      of_menus: 'on',
    };
    for (let row = 0; row < 40; row++)
      Object.assign(values, {
        [`if_${row}_0_column`]: 'c1',
        [`if_${row}_0_operator`]: 'is',
        [`if_${row}_0_value`]: 'l1',
      });
    const { html, longestMs } = await make(() => browser.post('/console/rules/edit', values));
    expect(html.match(/<option/g)?.length).to.be.above(40 * 2 * (LABELS - 1));
    expect(longestMs).to.be.below(90);
  });

  it('because an email has very many images', async () => {
    const values = {
      csrf: await browser.csrf('/console/emails/edit'),
      email_type: 'images',
      subject: 'S',
      sender: 'a@example.com',
      recipients: 'b@example.com',
      template: `{% autoescape false %}{{ '<img>' * 380000 }}{% endautoescape %}`,
      table: 'orders',
      key: '7',
      operation: 'update',
    };
    const { html, longestMs } = await make(() => browser.post('/console/emails/preview', values));
    expect(html).to.include('too long to be shown');
    expect(longestMs).to.be.below(90);
  });

  it('because very many tables without a key refer to a row', async () => {
    const { engine } = shop.fixture;
    const read: typeof engine.catalog = engine.catalog.bind(engine);
    let tables = 0;
    const counted: typeof read = (...args) => {
      tables += 1;
      return read(...args);
    };
    Object.assign(engine, { catalog: counted });
    expect(await browser.page('/console/why?table=hub&key=7')).to.include('What became of a row?');
    Object.assign(engine, { catalog: read });
    expect(tables).to.be.within(1, 40);
  });

  it('because an email has a million recipients', async () => {
    const csrf = await browser.csrf('/console/emails/edit');
    const fields =
      'sender=a@example.com&subject=S&template=x&email_type=many&table=orders&key=7&operation=update';
    const lists = {
      recipients: 'recipients=',
      'options.cc': 'recipients=a&cc=',
      'options.bcc': 'recipients=a&bcc=',
      attachments: 'recipients=a&attachments=',
    };
    for (const [field, list] of Object.entries(lists)) {
      const body = `csrf=${csrf}&${fields}&${list}${'a\n'.repeat(1_000_000)}`;
      const { html, longestMs } = await make(() => browser.send('/console/emails/preview', body));
      expect(html, field).to.include(`${field} may contain at most 1000.`);
      // The form itself takes a tenth of a second to parse; each recipient was a template, which took seconds.
      expect(longestMs, field).to.be.below(600);
    }
  });

  it('nor does any other way take as many', async () => {
    for (const input of [{ recipients: [] }, { options: { cc: [] } }, { attachments: [] }]) {
      const [field] = Object.keys(input);
      const many = JSON.parse(
        JSON.stringify(input).replace('[]', JSON.stringify(Array(1_001).fill('a'))),
      ) as object;
      const made = await shop.fixture.control(
        shop.root,
        'mutation ($input: email_typesInput) { update_email_type(email_type: "confirmation", input: $input) { version } }',
        { input: many },
      );
      expect(made.errors?.[0]?.message).to.match(new RegExp(`${field}.* may contain at most 1000`));
    }
  });
});
