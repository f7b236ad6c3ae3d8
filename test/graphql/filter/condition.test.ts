import { expect } from 'chai';
import { bind, sql, toStatement } from '../../../src/db/sql/sql.js';
import { compileCondition } from '../../../src/graphql/filter/compile.js';
import { parseFilter } from '../../../src/graphql/filter/syntax/parser.js';
import { createAliasSource } from '../../../src/graphql/filter/rows/scope.js';
import { expectError } from './expectError.js';
import { EVERYTHING, openShop, PRINCIPAL, SHOP, shopTable, type Shop } from './shop.js';

const PAID = { id: 1, status: 'paid', customer_id: 1, total: 10.5, tags: ['a'] };
const OPEN = { ...PAID, status: 'open' };

function compiled(condition: string) {
  const parsed = parseFilter(condition);
  const where = compileCondition(parsed, {
    catalog: SHOP,
    table: shopTable('orders'),
    filterVariable: 'filter',
    access: EVERYTHING,
    aliases: createAliasSource(),
  });
  return { where, inputs: { variables: {}, literals: () => parsed.literals, principal: PRINCIPAL } };
}

describe('conditions of email rules', () => {
  let shop: Shop;
  before(async () => (shop = await openShop()));
  after(() => shop.db.drop());

  async function holds(condition: string, old: object | null, new_: object | null): Promise<boolean> {
    const { where, inputs } = compiled(condition);
    const statement = toStatement(sql`select coalesce(${where}, false) as holds from events
      cross join jsonb_populate_record(null::shop.orders, events.new) new_row
      cross join jsonb_populate_record(null::shop.orders, events.old) old_row`);
    const slots = bind(statement, inputs);
    const text = `with events as (select $${slots.length + 1}::jsonb as new, $${slots.length + 2}::jsonb as old) ${statement.text}`;
    const { rows } = await shop.db.database.pool.query<{ holds: boolean }>(text, [
      ...slots,
      new_ && JSON.stringify(new_),
      old && JSON.stringify(old),
    ]);
    return rows[0]!.holds;
  }

  const cases: [condition: string, old: object | null, new_: object | null, holds: boolean][] = [
    ['', null, PAID, true],
    ["new.status = 'paid' and old.status != 'paid'", OPEN, PAID, true],
    ["new.status = 'paid' and old.status != 'paid'", PAID, PAID, false],
    ["new.status = 'paid' and old.status != 'paid'", null, PAID, false],
    ["new.status = 'paid' and old.status is distinct from 'paid'", null, PAID, true],
    ["new.status = 'paid' and (old is null or old.status != 'paid')", null, PAID, true],
    ['old is null', null, PAID, true],
    ['old is null', OPEN, PAID, false],
    ['old is not null', OPEN, PAID, true],
    ['not old is null', OPEN, PAID, true],
    ['new = null', OPEN, null, true],
    ['new != null', OPEN, null, false],
    ['new.total > old.total', { total: 1 }, { total: 2 }, true],
    ["new.customer.country = 'SE'", null, PAID, true],
    ["new.customer.country = 'SE'", PAID, null, false],
    ["old.customer.country = 'SE' and new.customer.country = 'NO'", PAID, { ...PAID, customer_id: 2 }, true],
    ['new.customer.name != old.customer.name', PAID, { ...PAID, customer_id: 2 }, true],
    ['new.customer.name = old.customer.name', PAID, PAID, true],
    ['new.item_collection.price = 5.5', null, PAID, true],
    ['not new.item_collection.price = 99', null, PAID, true],
    ['count(new.item_collection.id) = 2', null, PAID, true],
    ["'a' in new.tags", null, PAID, true],
    ['new.customer_id in $_PRINCIPAL.classes', null, PAID, true],
    ['new.`status` like "p%"', null, PAID, true],
  ];
  for (const [condition, old, new_, expected] of cases) {
    it(`${condition || '(blank)'}: ${old ? 'old' : '-'} → ${new_ ? 'new' : '-'}: ${expected}`, async () => {
      expect(await holds(condition, old, new_)).to.equal(expected);
    });
  }

  it('names must begin with new or old', () => {
    const error = expectError('FILTER_UNKNOWN_COLUMN', () => compiled("status = 'paid'"));
    expect(error.hint).to.include('new.status or old.status');
    expectError('FILTER_UNKNOWN_COLUMN', () => compiled("new.stauts = 'paid'"));
    expectError('FILTER_UNKNOWN_COLUMN', () => compiled("New.status = 'paid'"));
  });

  it('a record is not a value', () => {
    expect(expectError('FILTER_TYPE', () => compiled('new = old')).hint).to.include('new.column');
    expectError('FILTER_TYPE', () => compiled('new'));
  });

  it('aggregates have no table to range over', () => {
    expectError('FILTER_TYPE', () => compiled('new.total = max(new.total)'));
    expectError('FILTER_TYPE', () => compiled('count(*) > 1'));
  });
});
