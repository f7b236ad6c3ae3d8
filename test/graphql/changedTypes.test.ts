import { expect } from 'chai';
import { openShop, type Shop } from './support/shop.js';

/** Types with a value, one at least of each form in which values become JSON. */
const VALUES: Readonly<Record<string, string>> = {
  int2: '1',
  int4: '1',
  int8: '1',
  oid: '1',
  float8: '1',
  numeric: '1',
  bool: 'true',
  uuid: '6f1c3a52-6a3e-4f0e-9a41-1c5b2f7d8e90',
  date: '2026-01-01',
  timestamptz: '2026-01-01',
  interval: '1 day',
  inet: '::1',
  bytea: 'x',
  json: '{}',
  jsonb: '{}',
};
const WITHOUT_ORDER = ['json', 'jsonb'];
const NEW_VALUE = '1"},x\\';

describe('a column that becomes a text while it is served', () => {
  let shop: Shop;
  before(async () => {
    const tables = Object.entries(VALUES).map(
      ([
        type,
        value,
      ]) => `create table of_${type} (id int ${WITHOUT_ORDER.includes(type) ? 'primary key' : ''}, v ${type}
        ${WITHOUT_ORDER.includes(type) ? '' : 'primary key'}, w ${type}); insert into of_${type} values (1, '${value}', '${value}');`,
    );
    shop = await openShop(tables.join('\n'));
  });
  after(() => shop.close());

  for (const type of Object.keys(VALUES)) {
    it(`${type}: the next response has it as text`, async () => {
      const query = `{ of_${type} { v w } }`;
      await shop.data(query);
      const { pool } = shop.test.database;
      for (const column of ['v', 'w']) {
        await pool.query(
          `alter table ${shop.tenant.schema}.of_${type} alter ${column} type text using '${NEW_VALUE}'`,
        );
      }
      const { body } = await shop.ask(query);
      expect(JSON.parse(body)).to.deep.equal({ data: { [`of_${type}`]: [{ v: NEW_VALUE, w: NEW_VALUE }] } });
    });
  }
});
