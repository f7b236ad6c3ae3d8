import { expect } from 'chai';
import { SECRET_COLUMNS } from '../../src/control/storedSecrets.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** Not among them, and what becomes of them without their key. */
const NOT_LISTED: ReadonlyMap<string, string> = new Map([
  ['oidc_sign_in.code_verifier_encrypted', 'the sign-in of ten minutes has to be started again'],
  ['session.id_token_encrypted', 'the identity provider asks before it signs out'],
]);

describe('stored secrets', () => {
  let testDatabase: TestDatabase;
  before(async () => {
    testDatabase = await createTestDatabase();
  });
  after(() => testDatabase.drop());

  it('are all checked and re-encrypted, unless they end without harm', async () => {
    const { rows } = await testDatabase.database.pool.query<{ column: string }>(
      `select c.table_name || '.' || c.column_name as column from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
       where c.column_name like '%\\_encrypted' and t.table_type = 'BASE TABLE'`,
    );
    const listed = SECRET_COLUMNS.map(({ table, column }) => `${table}.${column}`);
    expect([...listed, ...NOT_LISTED.keys()]).to.have.members(rows.map(({ column }) => column));
  });
});
