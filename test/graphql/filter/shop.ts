import type {
  Catalog,
  Column,
  ColumnType,
  Relation,
  Table,
  TypeKind,
} from '../../../src/db/catalog/catalog.js';
import { bind, identifier, sql, toStatement, type Inputs, type Sql } from '../../../src/db/sql/sql.js';
import { compileFilter } from '../../../src/graphql/filter/compile.js';
import { parseFilter } from '../../../src/graphql/filter/syntax/parser.js';
import { createAliasSource, type RowAccess } from '../../../src/graphql/filter/rows/scope.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

/** A small shop, as tables and as a catalog written by hand. */
const SHOP_SQL = `
create schema shop;
create type shop.mood as enum ('calm', 'glad', 'cross');
create table shop.customer (
  id int primary key, name text, country varchar(2), vip boolean, credit numeric, parent_id int references shop.customer
);
create table shop.orders (
  id int primary key, customer_id int references shop.customer, status text, total numeric, qty int2, big int8,
  ratio float8, small float4, paid boolean, ref uuid, day date, created timestamptz, local timestamp, at time,
  lasting interval, mood shop.mood, data jsonb, raw json, bytes bytea, tags text[], numbers int[], code char(5),
  host inet, spot point, held oid, "order" int, "like" text
);
create table shop.item (id int primary key, order_id int references shop.orders, price numeric, qty int);
create table shop.label (id int primary key, title text);
create table shop.order_label (
  order_id int references shop.orders, label_id int references shop.label, primary key (order_id, label_id)
);
insert into shop.customer values
  (1, 'Ada', 'SE', true, 100.5, null), (2, 'Bob', 'NO', false, 20, 1), (3, 'Cyd', 'SE', null, null, 1), (4, 'Dan', null, false, 0, 2);
insert into shop.orders (id, customer_id, status, total, qty, big, ratio, small, paid, ref, day, created, local, at,
    lasting, mood, data, raw, bytes, tags, numbers, code, host, spot, "order", "like") values
  (1, 1, 'paid', 10.50, 2, 9007199254740993, 0.1, 1.1, true, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2024-01-31',
    '2024-01-31T10:00:00Z', '2024-01-31 10:00', '10:00', '2 days', 'calm', '{"a": {"b": "x"}, "n": 1}', '{"k":1}', 'hello',
    '{red,blue}', '{1,2}', 'ab', '10.0.0.1', '(1,2)', 7, 'x%'),
  (2, 1, 'open', 20, 5, 5, 2.5, 2.5, false, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', '2024-02-29',
    '2024-02-29T23:30:00Z', '2024-02-29 23:30', '23:30', '1 hour', 'glad', '{"a": {"b": "y"}}', '{"k":2}', 'world',
    '{green}', '{3}', 'abc', '10.0.0.2', '(3,4)', 8, 'y'),
  (3, 2, 'paid', 30, 10, -5, -1, -1, null, null, '2023-12-31',
    '2023-12-31T00:00:00Z', '2023-12-31 00:00', '00:00', '30 days', 'cross', null, null, null, '{}', null, 'x', null, null, 9, 'z'),
  (4, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
insert into shop.item values (1, 1, 5, 1), (2, 1, 5.5, 1), (3, 2, 20, 1), (4, 3, 3, 10);
insert into shop.label values (1, 'urgent'), (2, 'gift'), (3, 'unused');
insert into shop.order_label values (1, 1), (1, 2), (3, 2);
`;

const type = (kind: TypeKind, sqlType: string = kind, array = false): ColumnType => ({
  kind,
  sqlType,
  array,
});
const int = type('integer', 'int4');
const text = type('text');
const numeric = type('numeric');
const flag = type('boolean', 'bool');

function table(
  name: string,
  columns: Record<string, ColumnType>,
  key: string[],
  relations: Relation[],
): Table {
  const built = Object.entries(columns).map(([column, columnType]): [string, Column] => [
    column,
    {
      name: column,
      sqlName: column,
      type: columnType,
      nullable: !key.includes(column),
      hasDefault: false,
      generated: false,
      inPrimaryKey: key.includes(column),
      inForeignKey: column.endsWith('_id'),
      indexed: key[0] === column,
    },
  ]);
  const byName = new Map(built);
  return {
    name,
    schema: 'shop',
    sqlName: name,
    kind: 'table',
    columns: byName,
    primaryKey: key.map((column) => byName.get(column)!),
    relations: new Map(relations.map((relation) => [relation.field, relation])),
  };
}

const toOne = (field: string, target: string, here: string): Relation => ({
  kind: 'to-one',
  field,
  target,
  pairs: [{ here, there: 'id' }],
});
const toMany = (field: string, target: string, there: string): Relation => ({
  kind: 'to-many',
  field,
  target,
  pairs: [{ here: 'id', there }],
});
const manyToMany = (field: string, target: string, near: string, far: string): Relation => ({
  kind: 'many-to-many',
  field,
  target,
  through: 'order_label',
  nearPairs: [{ here: 'id', there: near }],
  farPairs: [{ here: far, there: 'id' }],
});

const tables = [
  table(
    'customer',
    { id: int, name: text, country: type('text', 'varchar'), vip: flag, credit: numeric, parent_id: int },
    ['id'],
    [
      toOne('parent', 'customer', 'parent_id'),
      toMany('customer_collection', 'customer', 'parent_id'),
      toMany('orders_collection', 'orders', 'customer_id'),
    ],
  ),
  table(
    'orders',
    {
      id: int,
      customer_id: int,
      status: text,
      total: numeric,
      qty: type('integer', 'int2'),
      big: type('bigint', 'int8'),
      ratio: type('float', 'float8'),
      small: type('float', 'float4'),
      paid: flag,
      ref: type('uuid'),
      day: type('date'),
      created: type('timestamptz'),
      local: type('timestamp', '"timestamp"'),
      at: type('time', '"time"'),
      lasting: type('interval', '"interval"'),
      mood: {
        kind: 'enum',
        sqlType: '"shop"."mood"',
        array: false,
        enumLabels: new Set(['calm', 'glad', 'cross']),
      },
      data: type('json', 'jsonb'),
      raw: type('json'),
      bytes: type('bytea'),
      tags: type('text', 'text', true),
      numbers: type('integer', 'int4', true),
      code: type('text', 'bpchar'),
      host: type('other', 'inet'),
      spot: type('other', 'point'),
      held: type('bigint', 'oid'),
      order: int,
      like: text,
    },
    ['id'],
    [
      toOne('customer', 'customer', 'customer_id'),
      toMany('item_collection', 'item', 'order_id'),
      manyToMany('label_collection', 'label', 'order_id', 'label_id'),
    ],
  ),
  table(
    'item',
    { id: int, order_id: int, price: numeric, qty: int },
    ['id'],
    [toOne('orders', 'orders', 'order_id')],
  ),
  table(
    'label',
    { id: int, title: text },
    ['id'],
    [manyToMany('orders_collection', 'orders', 'label_id', 'order_id')],
  ),
  table('order_label', { order_id: int, label_id: int }, ['order_id', 'label_id'], []),
];

export const SHOP: Catalog = {
  version: '1',
  schema: 'shop',
  tables: new Map(tables.map((t) => [t.name, t])),
  problems: [],
};

export function shopTable(name: string): Table {
  return SHOP.tables.get(name)!;
}

export const EVERYTHING: RowAccess = { predicate: () => 'all' };

export const PRINCIPAL = {
  roleid: 2,
  tenantid: 7,
  parentid: null,
  classes: [1, 3],
  capabilities: ['select', 'paid'],
  children: [],
};

/** The condition of a filter, as the body of a statement over `orders o`. */
export function compileShopFilter(
  tableName: string,
  filter: string,
  access = EVERYTHING,
): { where: Sql; inputs: Inputs } {
  const { tree, literals } = parseFilter(filter);
  const where = compileFilter(tree, literals, {
    catalog: SHOP,
    table: shopTable(tableName),
    alias: identifier('r'),
    filterVariable: 'filter',
    access,
    aliases: createAliasSource(),
  });
  return { where, inputs: { variables: {}, literals: () => literals, principal: PRINCIPAL } };
}

export interface Shop {
  readonly db: TestDatabase;
  /** Keys of the rows of a table that pass a filter; rows hidden by `access` don't. */
  readonly ids: (tableName: string, filter: string, access?: RowAccess) => Promise<number[]>;
}

export async function openShop(): Promise<Shop> {
  const db = await createTestDatabase();
  await db.database.pool.query(SHOP_SQL);
  return {
    db,
    async ids(tableName, filter, access = EVERYTHING) {
      const { where, inputs } = compileShopFilter(tableName, filter, access);
      const alias = identifier('r');
      const policy = access.predicate(shopTable(tableName), alias);
      const visible = policy === 'all' ? sql`true` : policy === 'none' ? sql`false` : policy;
      const statement = toStatement(
        sql`select r.id from ${identifier('shop', tableName)} ${alias} where ${visible} and ${where} order by 1`,
      );
      const { rows } = await db.database.pool.query<{ id: number }>(statement.text, bind(statement, inputs));
      return rows.map((row) => row.id);
    },
  };
}
