import { expect } from 'chai';
import { createTestTenant } from '../../support/createTestTenant.js';
import { preparedText } from '../../../src/db/pool/preparedStatements.js';
import { endOfSharedTransactions } from '../../../src/db/isolation/sharedAccess.js';
import { Transactions, type TransactionOutcome } from '../../../src/db/pool/transactions.js';
import { formatted } from '../../../src/db/sql/sql.js';
import { budgetOf } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

/** Some seconds of a computation that PostgreSQL neither cancels nor terminates, which a tenant's view may contain. */
const SEARCH = "select strpos(repeat('a', 160000), 'b' || repeat('a', 80000))::text";
const ROUNDS = 3;

describe('attack: a tenant starts statements that PostgreSQL does not end', () => {
  let test: TestDatabase;
  before(async () => (test = await createTestDatabase({ budget: budgetOf({ PG_POOL: '20' }) })));
  after(() => test.drop());

  it('has few sessions at a time, others are served and change their schemas, and so does it afterwards', async () => {
    const { database } = test;
    const [attacker, other] = await Promise.all(
      ['attacker', 'other'].map((name) =>
        createTestTenant(database.pool, { name, rootLogin: 'root', rootPassword: 'correct horse' }),
      ),
    );
    const brief = new Transactions(database.tenants, {
      timeoutMs: 100,
      canceler: {
        createClientBeside: database.createClient,
        requestCancel: () => Promise.resolve(),
        isPooled: false,
      },
      preparedStatements: false,
    });
    const run = (tenantid: number, text: string): Promise<TransactionOutcome> =>
      brief.run({
        tenantid,
        mode: 'read',
        statements: [{ statement: preparedText(formatted(text)), values: [] }],
      });
    const { shared } = await database.tenants.names();
    const sessions = async (): Promise<number> => {
      const { rows } = await database.pool.query<{ count: number }>(
        `select count(*)::int from pg_stat_activity where usename = $1 and query = $2 and state = 'active'`,
        [shared, SEARCH],
      );
      return rows[0]!.count;
    };
    await database.tenants.settle(attacker!.tenantid, attacker!.schema);
    await database.tenants.settle(other!.tenantid, other!.schema);
    const after: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all([run(attacker!.tenantid, SEARCH), run(attacker!.tenantid, SEARCH)]);
      if (round === 0) await endOfSharedTransactions(database.pool, await database.tenants.names(), 200);
      after.push(await sessions());
    }
    expect(Math.max(...after)).to.be.within(1, 2);
    // Nor does a script of another tenant wait for them.
    expect(after[0]).to.be.within(1, 2);
    expect((await run(other!.tenantid, 'select 1::text')).kind).to.equal('done');
    await waitFor('the end of the searches', async () => (await sessions()) === 0);
    await waitFor(
      'the attacker to be served again',
      async () => (await run(attacker!.tenantid, 'select 1::text')).kind === 'done',
    );
  });
});
