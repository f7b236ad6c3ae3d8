import { expect } from 'chai';
import { at, WebFixture } from '../api/webFixture.js';

/** What lists have without a limit of their own. */
const DEFAULT_LIMIT = 100;

describe('roles_pbac: warnings about lists that a query cuts', () => {
  let fixture: WebFixture;
  let token: string;
  before(async () => {
    fixture = await WebFixture.start({ env: { MAIL_TRANSPORT: 'mailbox' } });
    const sizes = [99, 100, 150].map(
      (size, index) =>
        `insert into cart values (${index}, array(select i from generate_series(1, 100) i), '[${'1,'.repeat(99)}1]');
         insert into line (cart_id, n) select ${index}, i from generate_series(1, ${size}) i;`,
    );
    const tenant = await fixture.createTenant(
      'shop',
      `create table cart (cart_id int primary key, numbers int[], data jsonb);
       create table line (line_id int generated always as identity primary key, cart_id int references cart, n int);
       ${sizes.join('\n')}`,
    );
    token = (await fixture.signIn(tenant.tenantid)).access_token;
  });
  after(() => fixture.stop());

  const warnings = async (query: string, rest: object = {}): Promise<unknown> => {
    const input = {
      email_type: 'cart',
      template: 'T',
      subject: 'S',
      sender: 'shop@example.com',
      recipients: ['ada@example.com'],
      queries: [{ query, outvar: 'found', ...rest }],
    };
    const result = await fixture.control(
      token,
      'query ($input: email_typesInput) { Utility { preview_email(input: $input, context: {}) { warnings { code field message } error { message } } } }',
      { input },
    );
    const preview = at(result, 'data.Utility.preview_email');
    expect(at(preview, 'error')).to.equal(null);
    return at(preview, 'warnings');
  };
  const cut = (path: string) => ({
    code: 'LIST_CUT',
    field: 'queries[0].query',
    message: `${path} has ${DEFAULT_LIMIT} rows, as many as a list without a limit has: there may be more`,
  });
  const lines = (filter: string): string => `{ line(filter: "${filter}") { n } }`;

  it('come for the list of a query, and not for a shorter one', async () => {
    expect(await warnings(lines('cart_id = 0'))).to.deep.equal([]);
    expect(await warnings(lines('cart_id = 2'))).to.deep.equal([cut('found')]);
    // Whether there are more is not known.
    expect(await warnings(lines('cart_id = 1'))).to.deep.equal([cut('found')]);
  });

  it('come once for each list within others', async () => {
    const query = '{ cart(ordering: "cart_id") { numbers data line_collection { n cart { cart_id } } } }';
    expect(await warnings(query)).to.deep.equal([cut('found[1].line_collection')]);
    const both = '{ cart { line_collection { n } } line { n cart { line_collection(limit: 1) { n } } } }';
    expect(await warnings(both)).to.deep.equal([cut('found.cart[1].line_collection'), cut('found.line')]);
  });

  it('go with a limit of its own', async () => {
    const query =
      'query ($limit: Int) { line(filter: "cart_id = 2", limit: $limit) { n cart { line_collection(limit: 1000) { n } } } }';
    expect(await warnings(query, { limit: 1000 })).to.deep.equal([]);
    expect(await warnings(query)).to.deep.equal([cut('found')]);
  });
});
