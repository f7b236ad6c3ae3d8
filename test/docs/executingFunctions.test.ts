import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

describe('docs/reference/isolation.md, "Names from a tenant\'s catalog"', () => {
  const page = readFileSync(new URL('../../docs/reference/isolation.md', import.meta.url), 'utf8');
  let test: TestDatabase;
  before(async () => (test = await createTestDatabase()));
  after(() => test.drop());

  it('lists every function of the schema that executes a text', async () => {
    const { rows } = await test.database.pool.query<{ name: string }>(
      `select proname as name from pg_proc
       where pronamespace in ('rowpost'::regnamespace, 'rowpost_tenant'::regnamespace) and prosrc ~* '\\mexecute\\M'`,
    );
    const [, listed = ''] = /^(Functions of the schema that `execute`.*?)\n\n/ms.exec(page) ?? [];
    const names = [...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(names).to.have.members(['execute', 'format', ...rows.map(({ name }) => name)]);
  });
});
