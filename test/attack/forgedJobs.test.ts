import { expect } from 'chai';
import { loadDeliveries } from '../../src/db/ledger/loadDeliveries.js';
import { openBatches } from '../../src/db/outbox/batches.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { TenantLimiter } from '../../src/foundation/limits/tenantLimiter.js';
import { evaluateRules } from '../../src/worker/evaluateBatch.js';
import { FailedEvaluations } from '../../src/worker/failedEvaluations.js';
import {
  createRule,
  createTenant,
  NO_LIMITS,
  type noEngine,
  writeEvents,
} from '../delivery/pipelineSetup.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/**
 * Others may write to a Redis that is shared. A tenant's rows, with its conditions, were evaluated in a session of the tenant that
 * a job named.
 */
describe('attack: jobs that name another tenant', () => {
  let db: TestDatabase;
  before(async () => {
    db = await createTestDatabase();
  });
  after(() => db.drop());

  for (const condition of [null, 'new.id > 0']) {
    for (const redelivered of [false, true]) {
      it(`evaluate nothing: ${condition ?? 'no condition'}, ${redelivered ? 'again' : 'at first'}`, async () => {
        const { ledger } = db.database;
        const [victim, other] = [await createTenant(db.database), await createTenant(db.database)];
        await createRule(db.database, victim, { condition });
        await writeEvents(db.database, victim, 1);
        await pollOutbox(ledger, { batchEvents: 100, pollEvents: 100 });
        const [batch] = (await openBatches(ledger, { minAgeMs: -1_000, limit: 10 })).filter(
          ({ tenantid }) => tenantid === victim.tenantid,
        );
        const schemas: string[] = [];
        const evaluateCondition: typeof noEngine.evaluateCondition = (
          tenantid,
          schema,
          _target,
          _condition,
          events,
        ) => {
          schemas.push(`${tenantid} ${schema}`);
          return Promise.resolve(events.map(() => true));
        };
        const deps = {
          ledger,
          engine: { evaluateCondition },
          limits: NO_LIMITS,
          records: new TenantLimiter<number>({ max: 1 }),
          failed: new FailedEvaluations(),
          log: testLog,
        };
        const forged = { ...batch!, tenantid: other.tenantid };
        const failure = await evaluateRules(deps, forged, redelivered).then(
          () => 'none',
          (error: unknown) => (error as Error).message,
        );
        expect(failure).to.equal(`batch ${batch!.batchid} is not of tenant ${other.tenantid}`);
        expect(schemas).to.deep.equal([]);
        const { ready } = await evaluateRules(deps, batch!, false);
        expect(ready.map(({ tenantid }) => tenantid)).to.deep.equal([victim.tenantid]);
        expect(await loadDeliveries(ledger, [{ ...ready[0]!, tenantid: other.tenantid }])).to.deep.equal([
          undefined,
        ]);
      });
    }
  }
});
