import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';
import { createDataEngine, type DataEngine } from '../../src/graphql/dataEngine.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';
import {
  countStates,
  createRule,
  createTenantWithTables,
  pipelineConfig,
  startPipeline,
  type Pipeline,
} from '../delivery/pipelineSetup.js';
import { knexOf } from '../support/knexOf.js';

/** Events of a batch, as shipped. */
const EVENTS = 100;
const CONDITION = 'number(new.secret) > 5';

describe('attack: a row for which a condition fails', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let engine: DataEngine;
  let pipeline: Pipeline;
  let tenant: CreatedTenant;
  let statements = 0;

  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url });
    const { transactions } = db.database;
    const run = transactions.run.bind(transactions);
    transactions.run = (request) => {
      statements += 1;
      return run(request);
    };
    engine = createDataEngine({ database: db.database, config, log: testLog });
    pipeline = await startPipeline(db.database, config, { engine });
  });
  after(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });
  beforeEach(async () => {
    tenant = await createTenantWithTables(db.database, 'create table note (id int primary key, secret text)');
    const { tenantid, rootRoleid } = tenant;
    await createRule(
      db.database,
      { tenantid, roleid: rootRoleid, apiKey: '' },
      { targets: ['note'], condition: CONDITION },
    );
  });
  afterEach(async () => {
    await knexOf(db.database)('rowpost.email_rule').where({ tenantid: tenant.tenantid }).del();
  });

  const insertNotes = async (secrets: readonly string[]): Promise<void> => {
    const principal = await new PrincipalSource(db.database.pool).load(tenant.tenantid, tenant.rootRoleid);
    const { body } = await engine.execute(
      principal!,
      {
        query: 'mutation ($input: [noteInput!]!) { create_many_note(input: $input) { id } }',
        variables: { input: secrets.map((secret, index) => ({ id: index + 1, secret })) },
      },
      { allowMutation: true },
    );
    expect(body).not.to.include('"errors"');
  };
  const ended = (states: Record<string, number>) =>
    waitFor('every event to be checked', async () => {
      const found = await countStates(db.database, tenant.tenantid);
      return JSON.stringify(sorted(found)) === JSON.stringify(sorted(states));
    });

  it('ends that event as CONDITION_FAILED, and sends the email of the others', async () => {
    await insertNotes(Array.from({ length: EVENTS }, (_, index) => (index === 41 ? 'abc' : '6')));
    await ended({ sent: EVENTS - 1, failed: 1 });
    const failed = await knexOf(db.database)('rowpost.email_delivery')
      .where({ tenantid: tenant.tenantid, state: 'failed' })
      .select('key', 'error_code', 'error');
    expect(failed).to.have.length(1);
    expect(failed[0]).to.deep.include({ key: { id: 42 }, error_code: 'CONDITION_FAILED' });
    expect((failed[0] as { error: string }).error).not.to.include('abc');
  });

  it('costs little more than one statement per event where every row is one', async () => {
    const records = Array.from({ length: EVENTS }, (_, index) => ({
      old: null,
      new: JSON.stringify({ id: index, secret: 'abc' }),
    }));
    await engine.evaluateCondition(tenant.tenantid, tenant.schema, 'note', CONDITION, []);
    statements = 0;
    const verdicts = await engine.evaluateCondition(
      tenant.tenantid,
      tenant.schema,
      'note',
      CONDITION,
      records,
    );
    expect(verdicts.map((verdict) => (verdict as { code?: string }).code)).to.deep.equal(
      records.map(() => 'FILTER_TYPE'),
    );
    expect(statements).to.equal(1 + EVENTS / 10 + EVENTS);
  });
});

function sorted(states: Record<string, number>): unknown {
  return Object.entries(states).sort(([one], [other]) => one.localeCompare(other));
}
