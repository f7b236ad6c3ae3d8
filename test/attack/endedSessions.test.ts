import { expect } from 'chai';
import { openBatches, type Batch } from '../../src/db/outbox/batches.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { TenantLimiter } from '../../src/foundation/limits/tenantLimiter.js';
import { createDataEngine, type DataEngine } from '../../src/graphql/dataEngine.js';
import { evaluateRules } from '../../src/worker/evaluateBatch.js';
import { FailedEvaluations } from '../../src/worker/failedEvaluations.js';
import {
  createRule,
  createTenantWithTables,
  NO_LIMITS,
  pipelineConfig,
  writeEvents,
} from '../delivery/pipelineSetup.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** More than any batch may take, split into its events. */
const MAX_EVALUATIONS = 50;

describe('attack: conditions that end the session which evaluates them', () => {
  let db: TestDatabase;
  let engine: DataEngine;
  before(async () => {
    db = await createTestDatabase();
    engine = createDataEngine({
      database: db.database,
      config: await pipelineConfig('postgres'),
      log: testLog,
    });
  });
  after(() => db.drop());

  const ways = {
    'by terminating it': `perform pg_terminate_backend(pg_backend_pid());`,
    'by an error that is too long to read': `raise exception '%', repeat('x', 2000000);`,
    'by notices that are too long to read': `raise notice '%', repeat('x', 2000000);`,
  };
  for (const [how, body] of Object.entries(ways)) {
    it(`${how}: that event fails, and the others are evaluated`, async () => {
      const { ledger, pool } = db.database;
      const { tenantid, rootRoleid, schema } = await createTenantWithTables(
        db.database,
        `create function may_read(code text) returns boolean language plpgsql as
           $$ begin if code = 'deadly' then ${body} end if; return true; end $$;
         create table kind (code text primary key);
         insert into kind values ('plain'), ('deadly');
         create policy read_kind on kind using (may_read(code));
         alter table kind enable row level security;
         alter table kind force row level security;
         create table coded (id int primary key, code text references kind);`,
      );
      await engine.introspect(tenantid, schema);
      const tenant = { tenantid, roleid: rootRoleid, apiKey: '' };
      await createRule(db.database, tenant, { targets: ['coded'], condition: "new.kind.code <> ''" });
      for (const code of ['plain', 'deadly', 'plain'])
        await writeEvents(db.database, tenant, 1, { target: 'coded', new: { id: 1, code } });
      await pollOutbox(ledger, { batchEvents: 100, pollEvents: 100 });

      const open = (): Promise<readonly Batch[]> => openBatches(ledger, { minAgeMs: -1_000, limit: 100 });
      const deps = {
        ledger,
        engine,
        limits: NO_LIMITS,
        records: new TenantLimiter<number>({ max: 1 }),
        failed: new FailedEvaluations(),
        log: testLog,
      };
      let evaluations = 0;
      for (let batches = await open(); batches.length > 0; batches = await open()) {
        for (const batch of batches) {
          evaluations += 1;
          if (evaluations > MAX_EVALUATIONS) throw new Error('the batch never ends');
          await evaluateRules(deps, batch, false).catch(() => undefined);
        }
      }
      const { rows } = await pool.query(
        `select change ->> 'code' as code, state, error_code from (
           select o.new as change, d.state, d.error_code
           from rowpost.email_delivery d join rowpost.outbox o using (tenantid, eventid)
           where d.tenantid = $1) deliveries order by 1, 2`,
        [tenantid],
      );
      expect(rows).to.deep.equal([
        { code: 'deadly', state: 'failed', error_code: 'POISON' },
        { code: 'plain', state: 'pending', error_code: null },
        { code: 'plain', state: 'pending', error_code: null },
      ]);
    });
  }
});
