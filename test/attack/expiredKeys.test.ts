import { expect } from 'chai';
import { insertApiKey } from '../../src/db/roles/insertApiKey.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

const EXPIRED = 2_000;

/** Only keys that had not expired were counted, and all were read with their role: a key that expires at once cost no place, for good. */
describe('attack: API keys that expire at once', () => {
  let db: TestDatabase;
  before(async () => (db = await createTestDatabase()));
  after(() => db.drop());

  it('are not kept without end', async () => {
    const { pool } = db.database;
    const { tenantid, rootRoleid: roleid } = await createTestTenant(pool, {
      name: 'hostile',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await pool.query(
      `insert into rowpost.api_key (tenantid, roleid, name, key_hash, hint, state_ms, expires)
       select $1, $2, 'key ' || i, sha256(i::text::bytea), '', 0, now() - i * interval '1 second'
       from generate_series(1, $3::int) i`,
      [tenantid, roleid, EXPIRED],
    );
    const create = (name: string): Promise<string | undefined> =>
      insertApiKey(pool, {
        tenantid,
        roleid,
        name,
        hash: 'ab'.repeat(32),
        hint: '',
        capabilities: null,
        expires: null,
        creatorid: roleid,
      });
    for (let count = 1; count <= 3; count++) expect(await create(`new ${count}`)).to.be.a('string');
    const { rows } = await pool.query<{ name: string }>(
      'select name from rowpost.api_key where roleid = $1 order by expires desc nulls first, createtime',
      [roleid],
    );
    expect(rows).to.have.length(23);
    expect(rows.slice(0, 4).map(({ name }) => name)).to.deep.equal(['new 1', 'new 2', 'new 3', 'key 1']);
    expect(rows.at(-1)?.name).to.equal('key 20');
  });
});
