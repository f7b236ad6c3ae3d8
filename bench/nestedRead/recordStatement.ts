import { loadConfig } from '../../src/process/loadConfig.js';
import { openDatabase } from '../../src/db/pool/database.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';
import { Transactions } from '../../src/db/pool/transactions.js';
import { createDataEngine } from '../../src/graphql/dataEngine.js';
import { createLogger } from '../../src/foundation/observability/log.js';
import { TEST_BUDGET, testEnv, testKeyRing } from '../../test/support/testConfig.js';
import { knexOf } from '../../test/support/knexOf.js';

export interface RecordedStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The one statement that Rowpost sends for a query with one root field, taken from the connection it is sent on. */
export async function recordStatement(request: {
  readonly databaseUrl: string;
  readonly tenantid: number;
  readonly roleLogin: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}): Promise<RecordedStatement> {
  const log = createLogger('silent', 'bench');
  const config = loadConfig(testEnv({ DATABASE_URL: request.databaseUrl }));
  const database = openDatabase({
    url: request.databaseUrl,
    budget: TEST_BUDGET,
    keyRing: testKeyRing,
    statementTimeoutMs: 15_000,
    lockTimeoutMs: 5_000,
    poolTimeoutMs: 5_000,
    applicationName: 'bench',
    log,
  });
  const engine = createDataEngine({ database, config, log });
  try {
    const role = await knexOf(database)<{ roleid: number; tenantid: number; login: string }>('rowpost.role')
      .where({ tenantid: request.tenantid, login: request.roleLogin })
      .first('roleid');
    const principal = await new PrincipalSource(database.pool).load(request.tenantid, role?.roleid ?? 0);
    if (!principal) throw new Error(`there is no role ${request.roleLogin}`);
    const seen = recordTransactions();
    const { query, variables = {} } = request;
    await engine.execute(principal, { query, variables }, { allowMutation: false });
    const [statement] = seen;
    if (!statement) throw new Error('no statement was seen');
    return statement;
  } finally {
    await database.close();
  }
}

/** Every statement that a transaction of this process runs from now on. */
function recordTransactions(): readonly RecordedStatement[] {
  const seen: RecordedStatement[] = [];
  const run = Object.getOwnPropertyDescriptor(Transactions.prototype, 'run')?.value as Transactions['run'];
  Transactions.prototype.run = function recorded(this: Transactions, request) {
    seen.push(...request.statements.map(({ statement, values }) => ({ text: statement.text, values })));
    return run.call(this, request);
  };
  return seen;
}
