import { expect } from 'chai';
import { at, WebFixture } from '../api/webFixture.js';

const DDL = `
  create type price as (amount numeric(8, 2), share double precision, note text);
  create type order_line as (id int, price price, steps numeric(8, 2)[], "odd name" numeric(8, 1));
  create domain priced as price;
  create table held (id int primary key, p price, ps price[], l order_line, ls order_line[], d priced, n numeric(8, 2)[]);
  insert into held values (1, (3.5, 0.5, 'a 1.10'), array[(1, 1, 'x'), null, (2.5, null, null)]::price[],
    row(7, (3.5, 0.25, null)::price, array[1, null, 2.5], 3), array[row(8, row(4, 1, ',"amount":1.0')::price, '{}', 1), null]::order_line[],
    (9, 9, null), '{1,2.5}'), (2, null, null, row(null, null, null, null), '{}', null, null), (3, null, '{}', null, null, null, null);`;

/** As a template writes each, and as SQL does. */
const VALUES = [
  ['p.amount', '(p).amount'],
  ['p.share', '(p).share'],
  ['p.note', '(p).note'],
  ['ps[0].amount', '(ps[1]).amount'],
  ['ps[2].amount', '(ps[3]).amount'],
  ['ps[2].share', '(ps[3]).share'],
  ['ps[1]', 'ps[2]'],
  ['l.id', '(l).id'],
  ['l.price.amount', '((l).price).amount'],
  ['l.steps[0]', '((l).steps)[1]'],
  ['l.steps[1]', '((l).steps)[2]'],
  ['l.steps[2]', '((l).steps)[3]'],
  ["l['odd name']", '(l)."odd name"'],
  ['ls[0].price.amount', '((ls[1]).price).amount'],
  ['ls[0].price.note', '((ls[1]).price).note'],
  ['ls[1]', 'ls[2]'],
  ['d.amount', '(d).amount'],
  ['n[1]', 'n[2]'],
] as const;

describe('emails with row types', () => {
  let fixture: WebFixture;
  let root: string;
  let schema: string;
  before(async () => {
    fixture = await WebFixture.start({ env: { MAIL_TRANSPORT: 'mailbox' } });
    const tenant = await fixture.createTenant('shop', DDL);
    ({ schema } = tenant);
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
  });
  after(() => fixture.stop());

  /** The email's body for a row, as of its trigger's record and as of a query. */
  async function render(id: number, template: (row: string) => string): Promise<readonly [string, string]> {
    const query = 'query ($filter: String) { held(filter: $filter) { id p ps l ls d n } }';
    const text = [template('records.new'), template('rows[0]')].join('\n---\n');
    const input = {
      template: '-',
      text,
      subject: 'S',
      sender: 's@example.com',
      recipients: ['a@example.com'],
      queries: [{ query, filter: 'id = {{ records.new.id }}', outvar: 'rows' }],
    };
    const result = await fixture.control(
      root,
      `query ($input: email_typesInput, $key: GenericScalar) { Utility {
        preview_email(input: $input, target: "held", key: $key) { text error { message } } } }`,
      { input: { email_type: 'held', ...input }, key: { id } },
    );
    expect(at(result, 'data.Utility.preview_email.error'), JSON.stringify(result)).to.equal(null);
    const [record = '', row = ''] = String(at(result, 'data.Utility.preview_email.text')).split('\n---\n');
    return [record.trim(), row.trim()];
  }

  it('show each value as PostgreSQL does, whatever it is in', async () => {
    const columns = VALUES.map(([, value]) => `coalesce((${value})::text, 'None')`).join(', ');
    const { rows } = await fixture.testDatabase.database.pool.query<{ all: string }>(
      `select concat_ws(';', ${columns}) as all from ${schema}.held where id = 1`,
    );
    const shown = await render(1, (row) => VALUES.map(([name]) => `{{ ${row}.${name} }}`).join(';'));
    expect(shown).to.deep.equal([rows[0]?.all, rows[0]?.all]);
  });

  it('count with decimals, and show nulls as they are', async () => {
    expect(
      await render(1, (row) => `{{ ${row}.p.amount + ${row}.ps[0].amount }} {{ ${row}.p.share + 0.5 }}`),
    ).to.deep.equal(['4.50 1.0', '4.50 1.0']);
    const nulls = await render(2, (row) =>
      ['p', 'ps', 'l', 'ls', 'd', 'n'].map((name) => `{{ ${row}.${name} }}`).join(' '),
    );
    const asPython = "None None {'id': None, 'price': None, 'steps': None, 'odd name': None} [] None None";
    expect(nulls).to.deep.equal([asPython, asPython]);
    expect(await render(3, (row) => `{{ ${row}.ps }}`)).to.deep.equal(['[]', '[]']);
  });
});
