import { expect } from 'chai';
import { ExactSite, literalOf, WAYS } from './support/exactRequests.js';

const LONG = '12345678901234567890.1234567891';
const FORTY = '1234567890123456789012345678901234567890';

/** Type, JSON as sent, and as PostgreSQL has it (the same where left out). */
const HELD: readonly (readonly [type: string, sent: string, stored?: string])[] = [
  ['bigint', '9007199254740993'],
  ['bigint', '9223372036854775807'],
  ['bigint', '-9223372036854775808'],
  ['bigint', '9007199254740993.0', '9007199254740993'],
  ['bigint', '9.007199254740993e15', '9007199254740993'],
  ['integer', '2147483647.0', '2147483647'],
  ['integer', '1e3', '1000'],
  ['integer', '-0', '0'],
  ['oid', '4294967295'],
  ['numeric', LONG],
  ['numeric', FORTY],
  ['numeric', '10.00'],
  ['numeric', '-0.0000000000000000000000000000000000000001'],
  ['numeric', '1e30', `1${'0'.repeat(30)}`],
  ['numeric', '1e400', `1${'0'.repeat(400)}`],
  ['numeric(30, 10)', '1234567890123456789.50', '1234567890123456789.5000000000'],
  // What rounds is the type itself.
  ['double precision', '0.1000000000000000055511151231257827', '0.1'],
  ['double precision', '9007199254740993', '9.007199254740992e+15'],
  ['real', '16777217', '1.6777216e+07'],
  ['json', '9007199254740993'],
  ['json', `{"a":[${LONG},{"b":[10.00,1e400,-0]}],"c":0.10}`],
  ['jsonb', `{"a": [${LONG}, {"b": ${FORTY}}]}`],
  ['bigint[]', '[9007199254740993,9007199254740992]'],
  ['numeric[]', `[${LONG},10.00]`],
  ['json[]', '[9007199254740993,{"a":10.00}]'],
  ['pair', `{"a":9007199254740993,"n":${LONG}}`],
  ['small_big', '9007199254740993'],
];

/** Type and JSON as sent, which it can't hold. */
const REFUSED: readonly (readonly [type: string, sent: string])[] = [
  ['bigint', '9223372036854775808'],
  ['bigint', '-9223372036854775809'],
  ['bigint', '9007199254740993.5'],
  ['bigint', '1e400'],
  ['bigint', FORTY],
  ['integer', '2147483648'],
  ['integer', '2147483647.0000000001'],
  ['integer', '9007199254740993'],
  ['smallint', '32768'],
  ['oid', '4294967296'],
  ['oid', '-1'],
  ['double precision', '1e400'],
  ['double precision', '-1e400'],
  ['double precision', '1e-400'],
  ['real', '1e39'],
  ['numeric(5, 2)', '123456.789'],
  ['money', '12.50'],
  ['text', '9007199254740993'],
  ['boolean', '9007199254740993'],
  ['bigint[]', '[1,9223372036854775808]'],
  ['integer[]', '[9007199254740993]'],
  ['pair', '{"a":9223372036854775808}'],
];

const TYPES = [...new Set([...HELD, ...REFUSED].map(([type]) => type))];
const columnOf = (type: string): string => `c${TYPES.indexOf(type)}`;
const numberIn = (json: string): string => /-?\d[\d.e+-]{3,}/.exec(json.replace('[1,', '['))?.[0] ?? json;

const DDL = `
  create type pair as (a bigint, n numeric);
  create domain small_big as bigint check (value > 0);
  create table held (id int primary key, ${TYPES.map((type) => `${columnOf(type)} ${type}`).join(', ')});
`;

/** A statement that writes `json` to a column of row `id`. */
interface Write {
  readonly query: string;
  readonly variables?: string;
}

const WRITES: Readonly<Record<string, (id: number, column: string, json: string) => Write>> = {
  'a literal': (id, column, json) => ({
    query: `mutation { create_held(input: { id: ${id}, ${column}: ${literalOf(json)} }) { id } }`,
  }),
  'a variable': (id, column, json) => ({
    query: 'mutation ($input: heldInput) { create_held(input: $input) { id } }',
    variables: `{"input":{"id":${id},"${column}":${json}}}`,
  }),
  'a variable within a literal': (id, column, json) => ({
    query: `mutation ($value: ${scalarOf(column)}) { create_held(input: { id: ${id}, ${column}: $value }) { id } }`,
    variables: `{"value":${json}}`,
  }),
  "a variable's default": (id, column, json) => ({
    query: `mutation ($value: ${scalarOf(column)} = ${literalOf(json)}) { create_held(input: { id: ${id}, ${column}: $value }) { id } }`,
  }),
  'one row of many': (id, column, json) => ({
    query: 'mutation ($input: [heldInput!]!) { create_many_held(input: $input) { id } }',
    variables: `{"input":[{"id":${id},"${column}":${json}},{"id":${-id}}]}`,
  }),
  'an upsert': (id, column, json) => ({
    query: 'mutation ($input: heldInput) { create_held(input: $input, onconflict: update) { id } }',
    variables: `{"input":{"id":${id},"${column}":${json}}}`,
  }),
  'an update': (id, column, json) => ({
    query: `mutation ($id: ID!, $input: heldInput) {
      create_held(input: { id: ${id} }) { id } update_held(id: $id, input: $input) { id } }`,
    variables: `{"id":${id},"input":{"${column}":${json}}}`,
  }),
};

const SCALARS: Readonly<Record<string, string>> = {
  bigint: 'BigInt',
  small_big: 'BigInt',
  oid: 'BigInt',
  integer: 'Int',
  smallint: 'Int',
  real: 'Float',
  'double precision': 'Float',
  money: 'String',
  text: 'String',
  boolean: 'Boolean',
  'bigint[]': '[BigInt]',
  'integer[]': '[Int]',
  'numeric[]': '[Decimal]',
  'json[]': '[GenericScalar]',
};

function scalarOf(column: string): string {
  const type = TYPES[Number(column.slice(1))] ?? '';
  return SCALARS[type] ?? (type.startsWith('numeric') ? 'Decimal' : 'GenericScalar');
}

describe('exact numbers: every type and input path', () => {
  let site: ExactSite;
  let id = 0;
  // to_json quotes oids.
  const unquoted = (text: string | null | undefined) => text?.replace(/^"(\d+)"$/, '$1');
  before(async () => (site = await ExactSite.open(DDL)));
  after(() => site.close());

  /** Each form of a write as JSON, and one of them by each other way to send it. */
  const routes = [
    ...Object.keys(WRITES).map((write) => ({ write, way: 'as JSON' })),
    ...Object.keys(WAYS)
      .filter((way) => way !== 'as JSON')
      .map((way) => ({ write: 'a variable', way })),
  ];
  const send = async (write: string, way: string, column: string, json: string) => {
    const { query, variables } = WRITES[write]!(++id, column, json);
    return site.ask(query, variables, way);
  };
  const inDatabase = (column: string): Promise<(string | null)[]> =>
    site.texts(`select to_json(${column})::text from tenant_${site.tenantid}.held where id = $1`, [id]);

  for (const [type, sent, stored = sent] of HELD) {
    for (const { write, way } of routes) {
      it(`${type} holds ${sent.slice(0, 60)}, sent ${way} in ${write}`, async () => {
        const column = columnOf(type);
        expect((await send(write, way, column, sent)).body).to.not.contain('errors');
        const expected = type === 'jsonb' || type.startsWith('json') ? stored : stored.replace(/\s/g, '');
        const [text] = await inDatabase(column);
        expect(unquoted(text)).to.equal(expected);
        const response = await site.ask(`{ held(filter: "id = ${id}") { ${column} } }`);
        expect(response.body).to.equal(`{"data":{"held":[{"${column}":${unquoted(text)}}]}}`);
        const [event] = await site.texts(
          `select (new -> '${column}')::text from rowpost.outbox where key ->> 'id' = $1 order by eventid desc limit 1`,
          [String(id)],
        );
        expect(event).to.equal(text);
      });
    }
  }

  for (const [type, sent] of REFUSED) {
    for (const { write, way } of routes) {
      it(`${type} refuses ${sent}, sent ${way} in ${write}`, async () => {
        const { body } = await send(write, way, columnOf(type), sent);
        const { errors } = JSON.parse(body) as {
          errors?: { message: string; extensions: { code: string } }[];
        };
        expect(errors?.[0]?.extensions.code, body).to.be.oneOf(['BAD_USER_INPUT', 'GRAPHQL_VALIDATION']);
        // PostgreSQL's own words for these, which do not say what was sent.
        if (type !== 'numeric(5, 2)' && type !== 'pair')
          expect(errors?.[0]?.message).to.contain(numberIn(sent));
        expect(await inDatabase('id')).to.deep.equal([]);
      });
    }
  }

  it('variables that are numbers stay numbers within a JSON literal', async () => {
    const { body } = await site.ask(
      `mutation ($i: Int, $b: BigInt, $f: Float!, $d: [Decimal], $n: Float, $s: String, $default: Decimal = 2.50, $none: Decimal) {
        create_held(input: { id: 1000000000, ${columnOf('jsonb')}: { i: $i, b: $b, f: $f, d: $d, n: $n, s: $s, list: [$b], default: $default, none: $none } }) { ${columnOf('jsonb')} }
      }`,
      '{"i":1.0,"b":9007199254740993,"f":1.10,"d":[2.50,"3.00",null],"n":"NaN","s":"1.10"}',
    );
    expect(JSON.parse(body), body).to.not.have.property('errors');
    for (const member of [
      '"i": 1',
      '"b": 9007199254740993',
      '"f": 1.10',
      '"d": [2.50, 3.00, null]',
      '"n": "NaN"',
      '"s": "1.10"',
      '"list": [9007199254740993]',
      '"default": 2.50',
    ]) {
      expect(body).to.contain(member);
    }
    expect(body).to.not.contain('"none"');
  });

  it('a literal of the wrong type is reported with its place', async () => {
    const { body } = await site.ask('{ held(limit: 1.5) { id } }');
    const { errors } = JSON.parse(body) as { errors?: unknown[] };
    expect(errors?.[0]).to.deep.include({
      message: 'Int cannot represent 1.5',
      locations: [{ line: 1, column: 15 }],
    });
  });

  it('objects are refused as numbers, and numbers as objects', async () => {
    const one = await site.ask(
      'mutation ($input: heldInput) { create_held(input: $input) { id } }',
      '{"input":9007199254740993}',
    );
    expect(one.body).to.contain('invalid value 9007199254740993').and.to.contain('BAD_USER_INPUT');
    for (const variables of ['9007199254740993', '"9007199254740993"', '[1.0]']) {
      const response = await site.ask('{ held { id } }', variables);
      expect([response.status, response.body.includes('variables must be an object')]).to.deep.equal([
        400,
        true,
      ]);
    }
  });
});
