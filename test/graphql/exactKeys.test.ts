import { expect } from 'chai';
import { ExactSite, WAYS } from './support/exactRequests.js';

const DDL = `
  create table big_key (id bigint primary key, note text);
  create table long_key (id numeric primary key, note text);
  create table pair_key (a bigint, b numeric, note text, primary key (a, b));
  create table reading (id bigint primary key, n numeric, f double precision, j json,
    big_key_id bigint references big_key);
  insert into big_key values (9007199254740992, 'even'), (9007199254740993, 'odd'), (9007199254740994, 'even');
  insert into long_key values (12345678901234567890, 'this'), (12345678901234567891, 'next');
  insert into pair_key values (9007199254740993, 12345678901234567890.5, 'this'), (9007199254740992, 12345678901234567890.5, 'that');
  insert into reading values
    (9007199254740992, 0.1, 0.1, '9007199254740992', 9007199254740992),
    (9007199254740993, 12345678901234567890.1234567891, 1e300, '9007199254740993', 9007199254740993);
`;
const ODD = '9007199254740993';

describe('exact keys: never an adjacent row', () => {
  let site: ExactSite;
  before(async () => (site = await ExactSite.open(DDL)));
  after(() => site.close());

  const notes = (table: string): Promise<(string | null)[]> =>
    site.texts(`select note from tenant_${site.tenantid}.${table} order by 1`);

  for (const way of Object.keys(WAYS)) {
    it(`a key sent ${way} changes exactly its row`, async () => {
      const update = 'mutation ($id: ID!) { update_big_key(id: $id, input: { note: "named" }) { id note } }';
      const response = await site.ask(update, `{"id":${ODD}}`, way);
      expect(response.body).to.equal(`{"data":{"update_big_key":{"id":"${ODD}","note":"named"}}}`);
      expect(await notes('big_key')).to.deep.equal(['even', 'even', 'named']);
    });
  }

  it('a key as a literal, of a numeric and of several columns', async () => {
    const one = await site.ask(`mutation { update_big_key(id: ${ODD}, input: { note: "odd" }) { id } }`);
    expect(one.body).to.contain(`"${ODD}"`);
    const long = 'mutation ($id: ID!) { update_long_key(id: $id, input: { note: "named" }) { id } }';
    expect((await site.ask(long, '{"id":12345678901234567891}')).body).to.contain('12345678901234567891');
    expect(await notes('long_key')).to.deep.equal(['named', 'this']);
    const pair =
      'mutation ($a: ID!, $b: ID!) { update_pair_key(a: $a, b: $b, input: { note: "named" }) { a b } }';
    const response = await site.ask(pair, `{"a":${ODD},"b":"12345678901234567890.5"}`);
    expect(response.body).to.equal(
      `{"data":{"update_pair_key":{"a":"${ODD}","b":"12345678901234567890.5"}}}`,
    );
    expect(await notes('pair_key')).to.deep.equal(['named', 'that']);
  });

  it('a key may be a whole number in any notation, as a literal and in variables', async () => {
    const update = (id: string, declared = ''): string =>
      `mutation ${declared} { update_big_key(id: ${id}, input: { note: "odd" }) { id } }`;
    for (const id of [`${ODD}.0`, '9.007199254740993e15', `"${ODD}"`]) {
      expect((await site.ask(update(id))).body, id).to.contain(`{"id":"${ODD}"}`);
      const { body } = await site.ask(update('$id', '($id: ID!)'), `{"id":${id}}`);
      expect(body, id).to.contain(`{"id":"${ODD}"}`);
    }
    const { body } = await site.ask(update('1.5'));
    expect(body).to.contain('ID cannot represent').and.to.contain('1.5').and.to.contain('locations');
  });

  it('an impossible key is refused, quoted as sent', async () => {
    const update = 'mutation ($id: ID!) { update_big_key(id: $id, input: { note: "none" }) { id } }';
    for (const id of ['9223372036854775808', '"9223372036854775808"', '9007199254740993.5', '1e400']) {
      const { body } = await site.ask(update, `{"id":${id}}`);
      expect(body).to.contain(id.replaceAll('"', '')).and.to.contain('BAD_USER_INPUT');
    }
    expect(await notes('big_key')).to.not.include('none');
  });

  it('a row is deleted by the exact key, with its event', async () => {
    await site.ask(`mutation { create_big_key(input: { id: 9007199254740995 }) { id } }`);
    const remove = 'mutation ($id: ID!) { delete_big_key(id: $id) { id } }';
    const response = await site.ask(remove, '{"id":9007199254740995}');
    expect(response.body).to.equal('{"data":{"delete_big_key":{"id":"9007199254740995"}}}');
    const [key] = await site.texts(
      "select key::text from rowpost.outbox where operation = 'delete' order by eventid desc limit 1",
    );
    expect(key?.replace(/\s/g, '')).to.equal('{"id":9007199254740995}');
    expect(await notes('big_key')).to.have.length(3);
  });

  it('a foreign key leads to exactly its row', async () => {
    const create = `mutation ($input: readingInput) { create_reading(input: $input) { big_key_id big_key { id } } }`;
    const { body } = await site.ask(create, `{"input":{"id":1,"big_key_id":${ODD}}}`);
    expect(body).to.equal(`{"data":{"create_reading":{"big_key_id":${ODD},"big_key":{"id":"${ODD}"}}}}`);
  });

  const FILTERS: readonly (readonly [filter: string, rows: number])[] = [
    [`id = ${ODD}`, 1],
    [`id = '${ODD}'`, 1],
    [`id = ${ODD}.0`, 1],
    [`id = ${ODD}.5`, 0],
    [`id in [${ODD}, 9007199254740995]`, 1],
    [`id in ['${ODD}', 9007199254740995.5]`, 1],
    [`id between ${ODD} and ${ODD}`, 1],
    [`id > 9007199254740992`, 1],
    [`id + 1 = 9007199254740994`, 1],
    [`big_key.id = ${ODD} and id > 1`, 1],
    ['n = 12345678901234567890.1234567891', 1],
    ['n = 12345678901234567890.1234567890', 0],
    ['n in [12345678901234567890.1234567891]', 1],
    ['f = 1e300', 1],
    ['f = 0.1000000000000000055511151231257827', 1],
    [`j = '${ODD}'`, 1],
  ];
  for (const [filter, rows] of FILTERS) {
    it(`the filter ${filter} finds ${rows} of the rows`, async () => {
      const query = 'query ($filter: String) { reading(filter: $filter) { id } }';
      const variables = JSON.stringify({ filter });
      const expected = `{"data":{"reading":[${rows === 1 && filter.startsWith('f = 0.1') ? '{"id":"9007199254740992"}' : rows === 1 ? `{"id":"${ODD}"}` : ''}]}}`;
      // Twice: the second is the plan of the first, with literals of its own.
      const other = JSON.stringify({ filter: filter.replace('993', '992') });
      await site.ask(query, other);
      expect((await site.ask(query, variables)).body).to.equal(expected);
      expect((await site.get(query, variables)).body).to.equal(expected);
      expect((await site.get(`{ reading(filter: ${JSON.stringify(filter)}) { id } }`)).body).to.equal(
        expected,
      );
    });
  }

  for (const filter of ['f = 1e400', 'f > -1e400', 'f in [0, 1e-400]', "f = '1e-400'"]) {
    it(`the filter ${filter} is refused, quoted as sent`, async () => {
      const { body } = await site.ask(`{ reading(filter: ${JSON.stringify(filter)}) { id } }`);
      const number = /1e-?400/.exec(filter)?.[0] ?? '';
      expect(body).to.contain(number).and.to.contain('FILTER_TYPE');
    });
  }

  for (const argument of ['limit', 'offset']) {
    it(`${argument} refuses anything but 32-bit integers, quoted as sent`, async () => {
      const query = `query ($n: Int) { reading(${argument}: $n) { id } }`;
      for (const n of [ODD, '2147483648', '1.0000000000000000001', '1e400']) {
        for (const { body } of [await site.ask(query, `{"n":${n}}`), await site.get(query, `{"n":${n}}`)]) {
          expect(body).to.contain(`Int cannot represent ${n}`);
        }
        const { body } = await site.ask(`{ reading(${argument}: ${n}) { id } }`);
        expect(body).to.contain(`Int cannot represent ${n}`);
      }
      const { body } = await site.get(query, '{"n":1.0}');
      expect(body).to.not.contain('errors');
    });
  }

  it('aggregates compute exactly', async () => {
    const { body } = await site.ask(
      `{ Aggregates { max(subquery: "{ reading { id } }") sum(subquery: "{ reading { n } }", filter: "id = ${ODD}") } }`,
    );
    expect(body).to.contain(`"max":${ODD}`).and.to.contain('12345678901234567890.1234567891');
  });
});
