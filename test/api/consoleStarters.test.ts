import { expect } from 'chai';
import { generator, testSeed } from '../support/randomNumbers.js';
import { fitStarter, guessTable, type FittedTable } from '../../src/api/console/starterFit.js';
import { STARTERS } from '../../src/api/console/starters.js';
import { ConsoleBrowser } from './consoleBrowser.js';
import { at, ROOT_LOGIN, ROOT_PASSWORD, WebFixture, type Json } from './webFixture.js';

const EDIT = '/console/emails/edit';

/** Tables that are none of the demo's: what each starter needs is called otherwise, and partly behind relations. */
const OTHER_TABLES = `
  create table buyers (buyer_id int primary key, full_name text, e_mail text, town text);
  create table sales (sale_id uuid primary key default gen_random_uuid(), reference text, "buyerId" int references buyers, tracking_code text);
  create table sale_lines (line_id int primary key, sale_id uuid references sales, article text, qty int, price numeric);
  create table invites (id int primary key, recipient_id int references buyers, inviter text, workspace text, code text);
  create table payments (id int primary key, buyer int references buyers, total numeric, currency text, paid_on date, card text);
  create table reminders (id int primary key, first_name text, contact_email text);
  create table orders_old (id int primary key, note text);
  insert into buyers values (1, 'Grace Hopper', 'grace@example.com', 'Arlington');
  insert into sales values (default, 'S-9', 1, 'TR-1');
  insert into sale_lines select 1, sale_id, 'Compiler', 2, 30 from sales;
  insert into invites values (1, 1, 'Howard Aiken', 'Mark I', 'k3y');
  insert into payments values (1, 1, 60, 'USD', '2026-05-01', 'Visa');
  insert into reminders values (1, 'Grace', 'grace@example.com');`;

/** What each shows of these rows, besides the address. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  order: ['Grace Hopper', 'S-9', '2 × Compiler', '€60.00'],
  shipment: ['Grace Hopper', 'S-9', 'has left for Arlington', 'TR-1'],
  invitation: ['Grace Hopper', 'Howard Aiken', 'Mark I', 'invitations/k3y'],
  receipt: ['$60.00', 'May 1, 2026', 'Visa'],
  digest: ['Grace'],
};

describe('starters of emails in the console', () => {
  let fixture: WebFixture;
  let browser: ConsoleBrowser;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('sales', OTHER_TABLES);
    root = (await fixture.signIn(tenantid)).access_token;
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    browser = new ConsoleBrowser(fixture);
    await browser.signIn('sales', ROOT_LOGIN, ROOT_PASSWORD);
  });
  after(() => fixture.stop());

  it('open with the columns of other tables, and show a real row at once', async () => {
    for (const { name } of STARTERS.filter((starter) => starter.name !== 'digest')) {
      const form = await browser.page(`${EDIT}?starter=${name}`);
      const values = valuesOf(form);
      expect(values['table'], name).to.be.oneOf(['sales', 'invites', 'payments']);
      const response = await browser.post('/console/emails/preview', values);
      const html = await response.text();
      expect([response.status, html.includes('role="alert"')], `${name}: ${html}`).to.deep.equal([
        200,
        false,
      ]);
      expect(html, name).to.include('grace@example.com').and.not.include('Ada');
      for (const text of SHOWN[name] ?? []) expect(decoded(html), name).to.include(text);
      expect(form, name).not.to.include('not found');
    }
  });

  it('say what was not found, and take another table and other columns', async () => {
    const form = await browser.page(`${EDIT}?starter=order&table=payments`);
    expect(form).to.include('It is about rows of payments.').and.not.include('not found');
    const chosen = `${EDIT}?starter=order&table=reminders&column_0=id&column_1=&column_2=contact_email`;
    const values = valuesOf(await browser.page(chosen));
    expect(values['subject']).to.equal('Your order {{ records.new.id }}');
    expect(values['recipients']).to.equal("{{ '' }} <{{ records.new.contact_email }}>");
    expect(values['query_0_query'] ?? '').to.equal('');
    const shown = await (await browser.post('/console/emails/preview', values)).text();
    expect(decoded(shown)).to.include('Your order 1').and.include('grace@example.com');
    // Neither a table nor a column that there isn't.
    const evil = valuesOf(
      await browser.page(`${EDIT}?starter=order&table=x"}&column_0=id}}{{evil&column_1=full_name&column_2=`),
    );
    expect(JSON.stringify(evil)).not.to.include('evil');
  });

  it('have a free name and the sender of the newest email', async () => {
    const made = await fixture.control(
      root,
      `mutation { create_email_type(input: { email_type: "receipt", subject: "x", template: "x", recipients: ["a@example.com"],
         sender: "Grace & Co <hello@grace.example>" }) { email_type } }`,
    );
    expect(made.errors).to.equal(undefined);
    const values = valuesOf(await browser.page(`${EDIT}?starter=receipt`));
    expect(values).to.deep.include({ email_type: 'receipt_2', sender: 'Grace & Co <hello@grace.example>' });
    expect(values['template']).to.include('Grace &amp; Co').and.not.include('Your company');
  });

  it('say what is a placeholder, until it is replaced', async () => {
    for (const { name } of STARTERS) {
      const page = await browser.page(`${EDIT}?starter=${name}`);
      const html = decoded(page);
      const template = valuesOf(page)['template'] ?? '';
      const lines = template.split('\n');
      const links = template.includes('https://') ? ['https://example.com/'] : [];
      const said = [
        ...html.matchAll(/<code>template<\/code>, line (\d+), column (\d+): "([^"]*)" is a placeholder/g),
      ];
      expect(said.map(([, , , text]) => text?.slice(0, 20)).sort(), name).to.deep.equal(
        ['1 Example Street, 12345 Example City', ...links].map((text) => text.slice(0, 20)).sort(),
      );
      for (const [, line, column, text] of said)
        expect(lines[Number(line) - 1]?.indexOf(text ?? '', Number(column) - 1), name).to.equal(
          Number(column) - 1,
        );
    }
    const made = await fixture.control(
      root,
      `mutation { create_email_type(input: { email_type: "own", subject: "x", template: "Own Street 1, https://own.example/",
         sender: "own@example.com", recipients: ["a@example.com"] }) { email_type } }`,
    );
    expect(made.errors).to.equal(undefined);
    expect(await browser.page(`${EDIT}?type=own`)).not.to.include('is a placeholder');
  });

  it('lead to a rule that only has to be saved', async () => {
    const values = valuesOf(await browser.page(`${EDIT}?starter=shipment`));
    const saved = await browser.post(EDIT, { ...values, action: 'save' });
    expect(saved.status, await saved.clone().text()).to.equal(303);
    const html = await browser.page(saved.headers.get('location') ?? '');
    const link = decoded(/href="(\/console\/rules\/edit[^"]*)"/.exec(html)?.[1] ?? '');
    const rule = valuesOf(await browser.page(link));
    expect(rule).to.deep.include({ name: 'order_shipped: sales', of_sales: 'on', on_insert: 'on' });
    const response = await browser.post('/console/rules/edit', { ...rule, action: 'save' });
    expect(response.status, await response.clone().text()).to.equal(303);
    const found = await fixture.control(root, '{ email_rule { email_type targets operations enabled } }');
    expect(at(found, 'data.email_rule')).to.deep.equal([
      { email_type: 'order_shipped', targets: ['sales'], operations: ['insert'], enabled: true },
    ]);
  });

  it('become emails about any table, whatever its columns are called', async () => {
    const next = generator(testSeed());
    const pick = <T>(from: readonly T[]): T => from[next(from.length)]!;
    const words = [...new Set(STARTERS.flatMap(({ fit }) => fit.names.flatMap(({ like }) => like)))];
    const types = ['text', 'int4', 'numeric', 'timestamptz', 'uuid', 'bool', 'json', 'text[]'];
    const columns = (): FittedTable['columns'] => [
      { name: 'id', type: pick(['int4', 'uuid', 'text']), in_primary_key: true },
      ...Array.from({ length: next(6) }, () => ({
        name: pick([...words, 'x']),
        type: pick(types),
        in_primary_key: false,
      })),
    ];
    for (let round = 0; round < 300; round++) {
      const table: FittedTable = {
        name: 'things',
        columns: columns(),
        relations: Array.from({ length: next(4) }, (_, i) => ({
          field: `${pick(['customers', 'buyer', 'items_collection', 'lines_collection'])}${i}`,
          kind: pick(['to-one', 'to-many']),
          columns: columns(),
        })),
      };
      const starter = pick(STARTERS.filter(({ fit }) => fit.outvar !== undefined));
      const { input, names } = fitStarter(starter, table);
      const context = contextOf(table, input);
      const { errors, data } = await fixture.control(
        root,
        `query ($input: email_typesInput, $context: GenericScalar) { Utility { preview_email(input: $input, context: $context) {
          subject html error { message field } warnings { message } } } }`,
        { input: { ...input, queries: [] }, context },
      );
      expect(errors).to.equal(undefined);
      const { error } = (data as { Utility: Record<string, { error: Json | null }> }).Utility[
        'preview_email'
      ]!;
      const hasAddress = names.find(({ label }) => label === 'Their address')?.column !== '';
      // Without an address there is nobody to send it to, which the page says.
      if (hasAddress)
        expect(error, JSON.stringify({ starter: starter.name, table, input, context })).to.equal(null);
      else
        expect(error?.['field'], JSON.stringify({ starter: starter.name, error, names, context })).to.match(
          /^recipients/,
        );
    }
    expect(guessTable(STARTERS[0]!, ['order_items', 'shopOrders', 'people'])).to.equal('order_items');
    expect(guessTable(STARTERS[0]!, ['order_items', 'orders', 'people'])).to.equal('orders');
    expect(guessTable(STARTERS[0]!, ['people', 'things'])).to.equal(undefined);
  });
});

/** What a row and its query would give: a value of the type in each column that exists, nothing in any other. */
function contextOf({ columns, relations }: FittedTable, input: Json): Json {
  const valueOf = ({ name, type }: FittedTable['columns'][number]): [string, unknown] => {
    if (/int|num/.test(type)) return [name, 7];
    if (type.startsWith('time')) return [name, '2026-01-01T00:00:00Z'];
    return [name, /mail/.test(name) ? 'a@example.com' : name.includes('currency') ? 'EUR' : 'text'];
  };
  const row = (of: FittedTable['columns']): Json => Object.fromEntries(of.map(valueOf));
  const [query] = input['queries'] as { query: string; outvar: string }[];
  const behind = Object.fromEntries(
    relations.map(({ field, kind, columns: theirs }) => [
      field,
      kind === 'to-one' ? row(theirs) : [row(theirs)],
    ]),
  );
  return {
    records: { new: row(columns), old: null },
    ...(query ? { [query.outvar]: [{ ...behind }] } : {}),
  };
}

/** The fields of the form of an email or a rule, as a browser would send them. */
function valuesOf(html: string): Record<string, string> {
  const form =
    /<form[^>]*method="post" action="\/console\/(?:emails|rules)\/edit"[\s\S]*?<\/form>/.exec(html)?.[0] ??
    '';
  const fields: [string, string][] = [];
  for (const [, attributes = ''] of form.matchAll(/<input ([^>]*)>/g)) {
    const name = /name="([^"]*)"/.exec(attributes)?.[1];
    const isBox = attributes.includes('type="checkbox"');
    if (name === undefined || (isBox && !attributes.includes('checked'))) continue;
    fields.push([name, isBox ? 'on' : decoded(/value="([^"]*)"/.exec(attributes)?.[1] ?? '')]);
  }
  for (const [, name = '', text = ''] of form.matchAll(
    /<textarea[^>]* name="([^"]*)"[^>]*>\n?([\s\S]*?)<\/textarea>/g,
  ))
    fields.push([name, decoded(text)]);
  for (const [, name = '', options = ''] of form.matchAll(
    /<select[^>]* name="([^"]*)"[^>]*>([\s\S]*?)<\/select>/g,
  )) {
    const option = /<option([^>]*) selected>([^<]*)/.exec(options) ?? /<option([^>]*)>([^<]*)/.exec(options);
    fields.push([name, decoded(/value="([^"]*)"/.exec(option?.[1] ?? '')?.[1] ?? option?.[2] ?? '')]);
  }
  return Object.fromEntries(fields);
}

function decoded(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#34;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
