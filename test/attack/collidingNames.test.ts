import { expect } from 'chai';
import { buildCatalog } from '../../src/db/catalog/buildCatalog.js';
import type { RawColumn, RawForeignKey, RawTable } from '../../src/db/catalog/introspect.js';
import { cpuTimer } from '../support/cpuTime.js';

const MAX_MS = 2_500;

const int: RawColumn = {
  name: 'id',
  notNull: true,
  hasDefault: false,
  generated: false,
  indexed: true,
  type: { name: 'int4', sqlType: 'int4', typtype: 'b', array: false, enumLabels: null },
};

const table = (name: string, columns: readonly RawColumn[], foreignKeys: readonly RawForeignKey[] = []) =>
  ({
    name,
    kind: 'r',
    columns,
    hidden: [],
    keys: [{ primary: true, columns: ['id'], nullsNotDistinct: false }],
    foreignKeys,
    foreignKeysElsewhere: [],
    temporalForeignKeys: [],
    constraints: [],
    fileColumn: null,
  }) satisfies RawTable;

const foreignKey = (name: string, column: string): RawForeignKey => ({
  name,
  columns: [column],
  target: 'hub',
  targetColumns: ['id'],
});

/** Its name in GraphQL is `_`. */
const ideograph = (index: number): string => String.fromCodePoint(0x4e00 + index);
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

/**
 * A catalog is built in one go, whenever its schema has changed. Each name that was taken already was looked for from the first
 * number on, and each relation was compared with all others of its table: 30 s for 20,000 tables, in which no tenant got a response.
 */
describe('attack: a schema whose names become the same', () => {
  const schemas: readonly (readonly [what: string, tables: readonly RawTable[]])[] = [
    ['tables', numbers(20_000).map((n) => table(ideograph(n), [int]))],
    [
      'columns',
      numbers(60).map((t) =>
        table(`t${t}`, [int, ...numbers(1500).map((n) => ({ ...int, name: ideograph(n) }))]),
      ),
    ],
    [
      'foreign keys of a column',
      [
        table('hub', [int]),
        table(
          'child',
          [int, { ...int, name: 'a' }],
          numbers(20_000).map((n) => foreignKey(`k${n}`, 'a')),
        ),
      ],
    ],
    [
      'foreign keys of many tables',
      [table('hub', [int]), ...numbers(20_000).map((n) => table(`t${n}`, [int], [foreignKey('k', 'id')]))],
    ],
  ];
  for (const [what, tables] of schemas) {
    it(what, () => {
      const spentMs = cpuTimer();
      const catalog = buildCatalog('s', { tables, composites: {}, text: '' });
      expect(spentMs()).to.be.lessThan(MAX_MS);
      expect(catalog.tables.size).to.equal(tables.length);
    });
  }

  it('keeps the names that they always had', () => {
    const child = table(
      'child',
      [int, ...['a', 'b', '中', '国', '__2'].map((name) => ({ ...int, name }))],
      [foreignKey('k1', 'a'), foreignKey('k2', 'a'), foreignKey('k3', 'b'), foreignKey('k4', 'a')],
    );
    const { tables } = buildCatalog('s', { tables: [table('hub', [int]), child], composites: {}, text: '' });
    expect([...tables.get('child')!.columns.keys()]).to.deep.equal(['id', 'a', 'b', '_', '_2', '_2_2']);
    expect([...tables.get('child')!.relations.keys()]).to.deep.equal([
      'a_hub',
      'a_hub_2',
      'b_hub',
      'a_hub_3',
    ]);
    expect([...tables.get('hub')!.relations.keys()]).to.deep.equal([
      'a_child_collection',
      'a_child_collection_2',
      'b_child_collection',
      'a_child_collection_3',
    ]);
  });
});
