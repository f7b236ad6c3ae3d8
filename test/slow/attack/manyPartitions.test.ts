import { expect } from 'chai';
import { setCapture } from '../../../src/db/capture/capture.js';
import { CatalogStore } from '../../../src/db/catalog/catalogStore.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';
import type { AppError } from '../../../src/foundation/errors.js';
import { CaptureRestorer } from '../../../src/relay/restoreCapture.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const GROUPS = 60;
const PER_GROUP = 200;

/** The relay created triggers on all partitions in one transaction, which took all locks: the writes of others failed, again and again. */
describe('attack: a captured table with more partitions than PostgreSQL has locks', () => {
  let test: TestDatabase;
  before(async () => (test = await createTestDatabase()));
  after(() => test.drop());

  it('gets no more triggers, and the tenant is told', async () => {
    const { pool, tenants } = test.database;
    const named = { name: 'hostile', rootLogin: 'root', rootPassword: 'correct horse' };
    const { tenantid, schema } = await createTestTenant(pool, named);
    const session = await tenants.connectDirectly(tenantid);
    try {
      await session.query(
        `set statement_timeout = '60s'; create function ${schema}.f() returns int return 1;
         create table ${schema}.t (id int primary key) partition by list (id)`,
      );
      const names = await tenants.names();
      const store = new CatalogStore({ pool, tenants, log: testLog, checkMs: 0 });
      const table = (await store.introspect(tenantid, schema)).tables.get('t')!;
      const capture = (): Promise<AppError | undefined> =>
        inTransaction(pool, (tx) => setCapture(tx, names, tenantid, table, 'all')).then(
          () => undefined,
          (error: unknown) => error as AppError,
        );
      expect(await capture()).to.equal(undefined);
      for (let group = 0; group < GROUPS; group++) {
        const first = group * PER_GROUP;
        const values = Array.from({ length: PER_GROUP }, (_, index) => first + index).join();
        await session.query(
          `create table ${schema}.g${group} (id int not null) partition by list (id);
           do $$ begin for i in ${first}..${first + PER_GROUP - 1} loop
             execute format('create table ${schema}.p%s partition of ${schema}.g${group} for values in (%s)', i, i);
           end loop; end $$`,
        );
        await session.query(
          `alter table ${schema}.t attach partition ${schema}.g${group} for values in (${values})`,
        );
      }
      await new CaptureRestorer({ database: test.database, log: testLog }).run();
      const { rows } = await pool.query<{ count: number }>(
        `select count(distinct tgrelid)::int as count from pg_trigger where tgfoid = 'rowpost.capture_rows'::regproc`,
      );
      expect(rows[0]!.count).to.equal(1);
      const failure = await capture();
      expect(failure).to.have.property('code', 'BAD_USER_INPUT');
      expect(failure?.message).to.include(`t has ${GROUPS * (PER_GROUP + 1)} partitions to change`);
    } finally {
      await session.end().catch(() => undefined);
    }
  });
});
