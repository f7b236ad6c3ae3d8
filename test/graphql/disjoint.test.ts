import { expect } from 'chai';
import type { Column, ColumnType, Table } from '../../src/db/catalog/catalog.js';
import { areDisjoint, requirementsOf } from '../../src/graphql/email/disjoint.js';

const TYPES: Readonly<Record<string, ColumnType>> = {
  status: { sqlType: 'text', kind: 'text', array: false },
  mood: { sqlType: '"shop"."mood"', kind: 'enum', array: false },
  name: { sqlType: 'citext', kind: 'text', array: false },
  code: { sqlType: 'bpchar', kind: 'text', array: false },
  n: { sqlType: 'int4', kind: 'integer', array: false },
  flag: { sqlType: 'bool', kind: 'boolean', array: false },
  tags: { sqlType: 'text', kind: 'text', array: true },
};
const TABLE = {
  columns: new Map(Object.entries(TYPES).map(([name, type]) => [name, { name, type } as Column])),
} as unknown as Table;

describe('conditions that exclude each other', () => {
  for (const [a, b, expected] of [
    ["new.status = 'paid'", "new.status = 'sent'", true],
    ["new.status = 'paid' and old.n = 1", "new.n > 2 and new.status = 'sent'", true],
    ["new.status = 'paid'", "new.status = 'paid'", false],
    ["new.status = 'paid'", "old.status = 'sent'", false],
    ["new.status = 'paid'", "new.status = 'sent' or new.n = 1", false],
    ["new.status = 'paid'", "not new.status = 'sent'", false],
    ["new.status = 'paid'", "new.status != 'paid'", false],
    ["new.mood = 'glad'", "new.mood = 'sad'", true],
    ["new.name = 'Ada'", "new.name = 'ada'", false],
    ["new.code = 'a'", "new.code = 'a '", false],
    ["new.tags = 'a'", "new.tags = 'b'", false],
    ['new.n = 1', 'new.n = 2', true],
    ['new.n = 1', 'new.n = 01', false],
    ['new.n = 1', 'new.n = 1.0', false],
    ["new.n = '1'", "new.n = '01'", false],
    ['new.flag = true', 'new.flag = false', true],
    ['new.customer.n = 1', 'new.customer.n = 2', false],
    ["new.status = 'paid'", 'new.status = ', false],
    ['', "new.status = 'paid'", false],
  ] as const)
    it(`${a} | ${b}: ${expected}`, () => {
      const [one, other] = [requirementsOf(a), requirementsOf(b)];
      expect(areDisjoint(TABLE, one, other)).to.equal(expected);
      expect(areDisjoint(TABLE, other, one)).to.equal(expected);
    });
});
