import { loadConfig } from '../../src/config.js';
import { openDatabase } from '../../src/db/database.js';
import { PrincipalSource } from '../../src/db/principal.js';
import { createDataEngine } from '../../src/graphql/dataEngine.js';
import { createLogger } from '../../src/log.js';
import { testEnv } from '../../test/support/testConfig.js';

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
}): Promise<RecordedStatement> {
  const log = createLogger('silent', 'bench');
  const config = loadConfig(testEnv({ DATABASE_URL: request.databaseUrl }));
  const database = openDatabase({
    url: request.databaseUrl,
    poolSize: 2,
    statementTimeoutMs: 15_000,
    lockTimeoutMs: 5_000,
    connectTimeoutMs: 5_000,
    applicationName: 'bench',
    log,
  });
  const engine = createDataEngine({ database, config, log });
  try {
    const role = await database
      .knex<{ roleid: number; tenantid: number; login: string }>('rowpost.role')
      .where({ tenantid: request.tenantid, login: request.roleLogin })
      .first('roleid');
    const principal = await new PrincipalSource(database.knex).load(request.tenantid, role?.roleid ?? 0);
    if (!principal) throw new Error(`there is no role ${request.roleLogin}`);
    const seen: RecordedStatement[] = [];
    database.pool.on('connect', (client) => {
      recordOn((client as unknown as { connection: Wire }).connection, seen);
    });
    await engine.execute(principal, { query: request.query }, { allowMutation: false });
    const statement = seen.find(({ text }) => text.includes('string_agg'));
    if (!statement) throw new Error('no statement was seen');
    return statement;
  } finally {
    await engine.close();
    await database.close();
  }
}

/** The parts of pg's connection that write a statement. */
interface Wire {
  parse(message: { text: string }): void;
  bind(message: { values: readonly unknown[] }): void;
}

function recordOn(wire: Wire, seen: RecordedStatement[]): void {
  const parse = wire.parse.bind(wire);
  const bind = wire.bind.bind(wire);
  let parsed: string | undefined;
  wire.parse = (message) => {
    parsed = message.text;
    parse(message);
  };
  wire.bind = (message) => {
    if (parsed !== undefined) seen.push({ text: parsed, values: message.values });
    parsed = undefined;
    bind(message);
  };
}
