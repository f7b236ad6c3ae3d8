import { expect } from 'chai';
import { createDataEngine, type DataEngine } from '../../src/graphql/dataEngine.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';
import {
  countStates,
  createRule,
  createTenant,
  createTenantWithTables,
  pipelineConfig,
  startPipeline,
  writeEvents,
  type Pipeline,
  type TestTenant,
} from '../delivery/pipelineSetup.js';

const JOBS = 8;
const SLEEP_SECONDS = 3;
/** Each row of `kind` that a condition reads takes as long. */
const TABLES = `
  create function sleeps() returns boolean language plpgsql as
    $$ begin perform pg_sleep(${SLEEP_SECONDS}); return true; end $$;
  create table kind (id int primary key, code text);
  insert into kind values (1, 'x');
  create policy read_kind on kind using (sleeps());
  alter table kind enable row level security;
  alter table kind force row level security;
  create table slow (id int primary key, kindid int references kind);`;

describe('attack: conditions that take as long as they may', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  let engine: DataEngine;
  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    const config = await pipelineConfig('postgres', {
      SENDGRID_BASE_URL: provider.url,
      WORKER_CONCURRENCY: String(JOBS),
      RELAY_BATCH: '1',
      LEASE_MS: '10000',
    });
    engine = createDataEngine({ database: db.database, config, log: testLog });
    pipeline = await startPipeline(db.database, config, { engine });
  });
  after(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });

  it('take no places of others, however many batches they are', async () => {
    const { database } = db;
    const hostile: TestTenant[] = [];
    for (let made = 0; made < 2; made++) {
      const { tenantid, rootRoleid, schema } = await createTenantWithTables(database, TABLES);
      const tenant = { tenantid, roleid: rootRoleid, apiKey: '' };
      await createRule(database, tenant, { targets: ['slow'], condition: "new.kind.code <> ''" });
      await engine.introspect(tenantid, schema);
      hostile.push(tenant);
    }
    const other = await createTenant(database);
    await createRule(database, other);
    await Promise.all(
      hostile.map((tenant) =>
        writeEvents(database, tenant, 8 * JOBS, { target: 'slow', new: { id: 1, kindid: 1 } }),
      ),
    );
    await waitFor('a condition that is being evaluated', async () => {
      const { rows } = await database.pool.query(`select from pg_stat_activity where wait_event = 'PgSleep'`);
      return rows.length >= 2;
    });
    const startedAtMs = performance.now();
    await writeEvents(database, other, 1);
    await waitFor(
      'the email of another tenant',
      async () => (await countStates(database, other.tenantid))['sent'] === 1,
    );
    expect(performance.now() - startedAtMs).to.be.below(SLEEP_SECONDS * 1_000);
  });
});
