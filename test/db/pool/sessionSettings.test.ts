import { expect } from 'chai';
import type { Database } from '../../../src/db/pool/database.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { settingsNotInForce } from '../../../src/db/pool/sessionSettings.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { PrincipalSource } from '../../../src/db/roles/principal.js';
import { createDataEngine } from '../../../src/graphql/dataEngine.js';
import { testConfig, testLog } from '../../support/testConfig.js';
import { openTestDatabase } from '../../support/templateDatabase.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const DEFAULTS = {
  extra_float_digits: '0',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  default_transaction_isolation: 'serializable',
  datestyle: 'German, DMY',
  intervalstyle: 'sql_standard',
  timezone: 'Asia/Kolkata',
};

describe('a database with the defaults of an old application', () => {
  let test: TestDatabase;
  let database: Database;

  before(async () => {
    test = await createTestDatabase();
    const name = new URL(test.url).pathname.slice(1);
    for (const [setting, value] of Object.entries(DEFAULTS))
      await test.database.pool.query(`alter database ${name} set ${setting} = '${value}'`);
    database = openTestDatabase(test.url);
  });
  after(async () => {
    await database.close();
    await test.drop();
  });

  it('has none of them in sessions of the service', async () => {
    expect(await settingsNotInForce(database.pool, database.settings)).to.deep.equal([]);
    const { rows } = await database.pool.query('show transaction_isolation');
    expect(rows).to.deep.equal([{ transaction_isolation: 'read committed' }]);
  });

  it('serves exact values, and events with the same', async () => {
    const { tenantid, schema, rootRoleid } = await createTestTenant(database.pool, {
      name: 'old',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    const ddl = 'create table reading (at float8 primary key, f float4, b bytea, t text, i interval)';
    await runTenantSql(database, { tenantid, sql: ddl });
    const engine = createDataEngine({
      database,
      config: testConfig(),
      log: testLog,
      onCommitted: () => undefined,
    });
    await engine.introspect(tenantid, schema);
    const root = (await new PrincipalSource(database.pool).load(tenantid, rootRoleid))!;
    const ask = async (query: string): Promise<string> =>
      (await engine.execute(root, { query }, { allowMutation: true })).body;
    const row = '"at":"0.30000000000000004","f":0.36666667,"b":"AP8=","t":"\\\\","i":"P1M2D"';
    const input = row.replace(/"(\w+)":/g, '$1:');
    expect(await ask(`mutation { create_reading(input: {${input}}) { at f b t i } }`)).to.equal(
      `{"data":{"create_reading":{${row}}}}`,
    );
    expect(
      await ask('mutation { update_reading(at: "0.30000000000000004", input: {t: "x"}) { t } }'),
    ).to.equal('{"data":{"update_reading":{"t":"x"}}}');
    const { rows } = await database.pool.query<{ new: string }>(
      'select new::text from rowpost.outbox where tenantid = $1 order by eventid limit 1',
      [tenantid],
    );
    expect(rows[0]?.new).to.equal(
      '{"at":0.30000000000000004,"f":0.36666667,"b":"\\\\x00ff","t":"\\\\","i":"P1M2D"}',
    );
  });
});
