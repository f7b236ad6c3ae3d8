import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { createTestTenant } from '../support/createTestTenant.js';
import { deleteOrphans } from '../../src/db/files/sweepFiles.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** Code of a tenant may delete files of its own, and keep its transaction open. */
describe("attack: a tenant's transaction keeps files locked", () => {
  let test: TestDatabase;
  before(async () => (test = await createTestDatabase()));
  after(() => test.drop());

  it('holds up the deletion of no other files', async () => {
    const { pool } = test.database;
    const tenant = await createTestTenant(pool, {
      name: 'one',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    const [locked, free] = [randomUUID(), randomUUID()] as const;
    await pool.query(
      `insert into rowpost.file (storagekey, tenantid, target, key, filenum, filename, mimetype, size, sha256, objectkey, roleid)
       select k, $2, 'doc', '{"id": 1}', n, 'a.txt', 'text/plain', 1, '\\x00', k, $3
       from unnest($1::uuid[]) with ordinality u(k, n)`,
      [[locked, free], tenant.tenantid, tenant.rootRoleid],
    );
    const holder = new pg.Client({ connectionString: test.url });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('delete from rowpost.file where storagekey = $1', [locked]);
      expect(await deleteOrphans(pool, [locked, free], [locked, free], 0)).to.equal(1);
    } finally {
      await holder.end();
    }
    expect(await deleteOrphans(pool, [locked], [locked], 0)).to.equal(1);
  });
});
