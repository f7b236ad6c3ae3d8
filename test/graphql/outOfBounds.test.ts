import { expect } from 'chai';
import type { Column } from '../../src/db/catalog/catalog.js';
import { columnType } from '../../src/db/catalog/types.js';
import { outOfBounds } from '../../src/graphql/write/outOfBounds.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { openShop, type Shop } from './support/shop.js';

/** Types by the modifier that pg_attribute has for them. */
const TYPES: Readonly<Record<string, [name: string, modifier: number]>> = {
  'varchar(3)': ['varchar', 7],
  'char(3)': ['bpchar', 7],
  'numeric(4,2)': ['numeric', (4 << 16) + 2 + 4],
  'numeric(2,4)': ['numeric', (2 << 16) + 4 + 4],
  'numeric(3,-2)': ['numeric', (3 << 16) + (-2 & 0x7ff) + 4],
  'bit(3)': ['bit', 3],
  'varbit(3)': ['varbit', 3],
  text: ['text', -1],
};

const NUMBERS = [
  ...[
    '0',
    '-0',
    '1',
    '99.99',
    '99.994',
    '99.995',
    '-99.995',
    '99.9949999',
    '100',
    '0.00994',
    '0.009949',
    '0.00995',
  ],
  ...[
    '0.01',
    '99949',
    '99950',
    '-99949.9',
    '99999',
    '1e2',
    '1e-400',
    '9.9e1',
    '0.0001e6',
    '1e38',
    '3.5e38',
    '1e309',
  ],
  ...['32767', '32768', '-32768', '-32769', '2147483648', '-2147483648', '9223372036854775807'],
  ...['NaN', 'Infinity', '-Infinity', ' +inf '],
  ...['9223372036854775808', '-9223372036854775808', '-9223372036854775809', '1e-46', '9995e-2'],
];
const BITS = ['', '1', '101', '1010', 'b101', 'B1010', 'x5', 'X', '2'];
const TEXTS = ['', 'abc', 'abcd', 'abc   ', 'ab    c', '🙂🙂🙂', '🙂🙂🙂🙂'];

describe("values beyond PostgreSQL's length or size limits", () => {
  let database: TestDatabase;
  before(async () => (database = await createTestDatabase()));
  after(() => database.drop());

  for (const [type, [name, modifier]] of Object.entries(TYPES)) {
    it(`are recognized for ${type}`, async () => {
      const isText = ['varchar', 'bpchar', 'text'].includes(name);
      const column = {
        type: columnType({ name, sqlType: name, typtype: 'b', array: false, modifier, enumLabels: null }),
      } as Column;
      await database.database.pool.query(
        `create table public.t_${name}_${String(modifier).replace('-', 'm')} (x ${type})`,
      );
      for (const value of isText ? TEXTS : name.endsWith('bit') ? BITS : NUMBERS) {
        const refused = await database.database.pool
          .query(`insert into public.t_${name}_${String(modifier).replace('-', 'm')} values ($1)`, [value])
          .then(
            () => false,
            (error: unknown) => ['22001', '22003', '22026'].includes((error as { code: string }).code),
          );
        expect(outOfBounds(column, value) !== undefined, `${value} as ${type}`).to.equal(refused);
      }
    });
  }

  it('are recognized quickly for endless digits', () => {
    const of = (sqlType: string, modifier: number): Column =>
      ({
        type: columnType({ name: sqlType, sqlType, typtype: 'b', array: false, modifier, enumLabels: null }),
      }) as Column;
    const digits = '9'.repeat(1_000_000);
    expect(outOfBounds(of('numeric', (4 << 16) + 2 + 4), digits)).to.be.a('string');
    expect(outOfBounds(of('numeric', (4 << 16) + 2 + 4), '1e999999999')).to.be.a('string');
  });
});

describe('a value beyond the bounds of its column', () => {
  const REFUSED = [
    ['t', 'long', 'A text is longer than its column allows: at most 3 characters.'],
    ['n', '100', 'A number is out of the range of its type: at most 2 digits before the point.'],
    ['n', 'Infinity', 'A number is out of the range of its type: finite numbers only.'],
    ['b', '1', 'A bit string has another length than its column: exactly 3 bits.'],
    ['v', '1010', 'A text is longer than its column allows: at most 3 bits.'],
  ] as const;
  let shop: Shop;
  before(async () => {
    shop = await openShop(
      'create table bounded (id int primary key, t varchar(3), n numeric(4,2), b bit(3), v varbit(3)); insert into bounded values (1)',
    );
  });
  after(() => shop.close());

  for (const [name, value, reason] of REFUSED) {
    it(`is refused with the column and the bound: ${value} for ${name}`, async () => {
      for (const mutation of [
        `create_bounded(input: {id: 2, ${name}: "${value}"})`,
        `create_many_bounded(input: [{id: 2}, {id: 3, ${name}: "${value}"}])`,
        `update_bounded(id: 1, input: {${name}: "${value}"})`,
      ]) {
        const { errors } = await shop.ask(`mutation { ${mutation} { id } }`);
        expect(errors?.[0]?.message).to.equal(`${name}: ${reason}`);
        expect(errors?.[0]?.extensions).to.include({ table: 'bounded', column: name });
      }
    });
  }
});
