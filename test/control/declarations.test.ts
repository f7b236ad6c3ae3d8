import { expect } from 'chai';
import { OBJECTS } from '../../src/control/objects/index.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

describe('declarations of control objects', () => {
  let test: TestDatabase;
  before(async () => {
    test = await createTestDatabase();
  });
  after(() => test.drop());

  for (const { table, view = table, columns } of OBJECTS) {
    it(`${table}: columns and types match the database`, async () => {
      const { rows } = await test.database.pool.query<{ name: string; type: string }>(
        `select attname as name, format_type(atttypid, null) as type from pg_catalog.pg_attribute
         where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
        [`rowpost.${view}`],
      );
      const stored = new Map(rows.map(({ name, type }) => [name, SHORT_NAMES[type] ?? type]));
      for (const [name, column] of Object.entries(columns)) {
        if (column.inputOnly) expect(stored.has(name), name).to.equal(false);
        else if (column.secret === 'hash') expect(stored.get(`${name}_hash`), name).to.equal('bytea');
        else if (column.secret) expect(stored.get(`${name}_encrypted`), name).to.equal('text');
        else expect(stored.get(name), name).to.equal(column.type);
      }
    });
  }
});

/** As declarations name the types that PostgreSQL writes out. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  integer: 'int4',
  'integer[]': 'int4[]',
  bigint: 'int8',
  boolean: 'bool',
  'timestamp with time zone': 'timestamptz',
};
