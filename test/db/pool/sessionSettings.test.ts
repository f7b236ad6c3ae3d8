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
  array_nulls: 'off',
  xmlbinary: 'hex',
  xmloption: 'document',
  quote_all_identifiers: 'on',
  transform_null_equals: 'on',
  row_security: 'off',
  default_transaction_isolation: 'serializable',
  datestyle: 'German, DMY',
  intervalstyle: 'sql_standard',
  timezone: 'Asia/Kolkata',
};

/** Those of PostgreSQL's settings that the sessions leave as they are, by what they are about. */
const LEFT = {
  'sent by the driver': ['client_encoding'],
  'of the schema that is served: its currency, its languages, the zones that its texts name': [
    'default_text_search_config',
    'icu_validation_level',
    'lc_monetary',
    'lc_numeric',
    'lc_time',
    'timezone_abbreviations',
  ],
  'of texts that no statement has': ['backslash_quote', 'escape_string_warning'],
  'of rows without an order': ['synchronize_seqscans'],
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

  it('decides on every setting by which PostgreSQL reads and prints values, or did in older versions', async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      `select lower(name) as name from pg_settings where context = 'user' and (name ~ '^xml|^bytea_output$'
       or category ~ 'Locale and Formatting$|^Version and Platform Compatibility')`,
    );
    const known = [...Object.keys(database.settings), ...Object.values(LEFT).flat()];
    expect(known).to.include.members(rows.map(({ name }) => name));
    expect(database.settings).to.include.keys(Object.keys(DEFAULTS));
  });

  it('serves exact values, and events with the same', async () => {
    const { tenantid, schema, rootRoleid } = await createTestTenant(database.pool, {
      name: 'old',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    const ddl =
      'create table reading (at float8 primary key, f float4, b bytea, t text, i interval, x xml, o oid, l text[])';
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
    const row =
      '"at":"0.30000000000000004","f":0.36666667,"b":"AP8=","t":"\\\\","i":"P1M2D","x":"text","l":["NULL",null]';
    const input = row.replace(/"(\w+)":/g, '$1:');
    expect(await ask(`mutation { create_reading(input: {${input}}) { at f b t i x l } }`)).to.equal(
      `{"data":{"create_reading":{${row}}}}`,
    );
    expect(
      await ask('mutation { update_reading(at: "0.30000000000000004", input: {t: "x"}) { t } }'),
    ).to.equal('{"data":{"update_reading":{"t":"x"}}}');
    expect(await ask('mutation { create_reading(input: {at: 1, o: "-1"}) { o } }')).to.include(
      "o can't hold -1.",
    );
    const { rows } = await database.pool.query<{ new: string }>(
      'select new::text from rowpost.outbox where tenantid = $1 order by eventid limit 1',
      [tenantid],
    );
    expect(rows[0]?.new).to.equal(
      '{"at":0.30000000000000004,"f":0.36666667,"b":"\\\\x00ff","t":"\\\\","i":"P1M2D","x":"text","o":null,"l":["NULL",null]}',
    );
  });
});
