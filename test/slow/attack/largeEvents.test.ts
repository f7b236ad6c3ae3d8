import { expect } from 'chai';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { PrincipalSource } from '../../../src/db/roles/principal.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { createDataEngine, type DataEngine } from '../../../src/graphql/dataEngine.js';
import { startFakeProvider, type FakeProvider } from '../../support/fakeProvider.js';
import { testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';
import {
  countStates,
  createRule,
  createTenantWithTables,
  pipelineConfig,
  startPipeline,
  type Pipeline,
} from '../../delivery/pipelineSetup.js';
import { formatted } from '../../../src/db/sql/sql.js';
import { knexOf } from '../../support/knexOf.js';

/** A row of 600 MB in an event ended every worker: it fits into no string. */
describe('attack: events of any size', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let engine: DataEngine;
  let pipeline: Pipeline;

  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url });
    engine = createDataEngine({ database: db.database, config, log: testLog });
    pipeline = await startPipeline(db.database, config, { engine });
  });
  after(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });

  async function tenantWith(condition: string | null): Promise<CreatedTenant> {
    const tenant = await createTenantWithTables(
      db.database,
      'create table note (id int primary key, body text)',
    );
    const { tenantid, rootRoleid } = tenant;
    await createRule(
      db.database,
      { tenantid, roleid: rootRoleid, apiKey: '' },
      { targets: ['note'], condition },
    );
    return tenant;
  }

  /** As code of the tenant writes events: one for each size of a row's text. */
  const write = ({ tenantid }: CreatedTenant, sizes: readonly number[]): Promise<unknown> =>
    runTenantSql(db.database, {
      tenantid,
      sql: `insert into rowpost_tenant.event (roleid, operation, target, key, new)
        select 1, 'insert', 'note', json_build_object('id', n), json_build_object('id', n, 'body', repeat('x', size))
        from unnest(array[${sizes.join(', ')}]) with ordinality s(size, n)`,
    });

  for (const [what, condition] of [
    ['without a condition', null],
    ['with a condition', 'new.id > 0'],
  ] as const) {
    it(`a row that is too large to read ends its own delivery, ${what}`, async () => {
      const tenant = await tenantWith(condition);
      await write(tenant, [10, 9_000_000, 30_000_000, 10, 7_000_000, 7_000_000, 7_000_000, 10]);
      await waitFor('every delivery to end', async () => {
        const { sent = 0, failed = 0 } = await countStates(db.database, tenant.tenantid);
        return sent === 6 && failed === 2;
      });
      const failures = await knexOf(db.database)('rowpost.email_delivery')
        .where({ tenantid: tenant.tenantid, state: 'failed' })
        .orderBy('deliveryid')
        .select('key', 'error_code');
      expect(failures).to.deep.equal([
        { key: { id: 2 }, error_code: 'EVENT_TOO_LARGE' },
        { key: { id: 3 }, error_code: 'EVENT_TOO_LARGE' },
      ]);
    });
  }

  for (const [what, columns] of [
    ['key', `'insert', 'note', json_build_object('id', repeat('x', 2000000))`],
    ['operation', `repeat('x', 2000000), 'note', '{}'`],
    ['target', `'insert', repeat('x', 2000000), '{}'`],
  ] as const) {
    it(`an event has no ${what} of megabytes`, async () => {
      const tenant = await tenantWith(null);
      const sql = `insert into rowpost_tenant.event (roleid, operation, target, key) select 1, ${columns}`;
      const refused = await runTenantSql(db.database, { tenantid: tenant.tenantid, sql }).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(refused).to.have.nested.property('details.sqlstate', '44000');
    });
  }

  it('nor does one added to a mutation by tenant code, which is answered like any check violation', async () => {
    const { tenantid, rootRoleid, schema } = await tenantWith(null);
    await runTenantSql(db.database, {
      tenantid,
      sql: `create function add() returns trigger language plpgsql as $$ begin
          insert into rowpost_tenant.event (roleid, operation, target, key) values (1, repeat('x', 101), 'note', '{}'); return null; end $$;
        create trigger add after insert on note for each row execute function add()`,
    });
    await engine.introspect(tenantid, schema);
    const root = await new PrincipalSource(db.database.pool).load(tenantid, rootRoleid);
    const query = 'mutation { create_note(input: {id: 1}) { id } }';
    const { body } = await engine.execute(root!, { query }, { allowMutation: true });
    expect(body).to.contain('"CHECK_VIOLATION"');
  });

  it('a row that is too long breaks the connection, not the process', async () => {
    const { ledger } = db.database;
    for (const query of [
      (text: string) => ledger.query({ text: formatted(text) }, []),
      (text: string) => db.database.pool.query(text),
      (text: string) => knexOf(db.database).raw(text),
    ]) {
      const outcome = await query(`select repeat('x', 150000000) as text`).then(
        () => 'read',
        () => 'refused',
      );
      expect(outcome).to.equal('refused');
    }
  });
});
