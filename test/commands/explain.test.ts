import { expect } from 'chai';
import { explain } from '../../src/commands/explain.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { capturedOutput } from '../support/capturedOutput.js';
import { testEnv } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

const TABLES = `
  create table product (id int primary key, name text not null, price numeric, hidden boolean not null default false);
  insert into product select i, 'product ' || i, i, false from generate_series(1, 1000) i;
  create table secret (id int primary key);
  analyze product;`;

describe('rowpost explain', () => {
  let testDatabase: TestDatabase;
  let tenantid: number;
  let rootRoleid: number;
  let roleid: number;
  let environment: NodeJS.ProcessEnv;

  before(async () => {
    testDatabase = await createTestDatabase();
    const { database } = testDatabase;
    const tenant = await createTestTenant(database.pool, {
      name: 'shop',
      rootLogin: 'root',
      rootPassword: 'correct horse battery',
    });
    ({ tenantid, rootRoleid } = tenant);
    await runTenantSql(database, { tenantid, sql: TABLES });
    const { rows } = await database.pool.query<{ roleid: number }>(
      `insert into rowpost.role (tenantid, login, name, parentid, creatorid, capabilities)
       values ($1, 'clerk', 'clerk', $2, $2, '{login,select}') returning roleid`,
      [tenantid, rootRoleid],
    );
    roleid = rows[0]!.roleid;
    await database.pool.query(
      `insert into rowpost.policy_rule (tenantid, name, capabilities, targets, roles, filter, creatorid)
       values ($1, 'visible', '{select}', '{product}', array[$2::int], $3, $4)`,
      [tenantid, roleid, "hidden = false and name != 'rule-value'", rootRoleid],
    );
    environment = { ...process.env };
    Object.assign(process.env, testEnv({ DATABASE_URL: testDatabase.url }));
  });
  after(async () => {
    process.env = environment;
    await testDatabase.drop();
  });

  const run = (role: number, query: string, ...more: string[]): Promise<string> =>
    capturedOutput(() =>
      explain(['--tenant', String(tenantid), '--role', String(role), '--query', query, ...more]),
    );
  const refusal = (args: readonly string[]): Promise<string> =>
    explain(args).then(
      () => 'it was not refused',
      (error: unknown) => (error as Error).message,
    );

  it('prints the SQL of each field, and its plan', async () => {
    const printed = await run(rootRoleid, '{ one: product(filter: "id = 7") { name } product { id } }');
    const [one = '', all = ''] = printed.split('-- product\n');
    expect(one).to.match(/^-- one\nselect /);
    expect(one).to.include('"product"').and.include('Index Scan using product_pkey');
    expect(all)
      .to.include('"product"')
      .and.match(/Limit {2}\(cost=/);
  });

  it('accepts variables and an operation name', async () => {
    const query = 'query A { product { id } } query B($filter: String) { product(filter: $filter) { name } }';
    const variables = ['--variables', '{"filter": "name = \'caller-value\'"}'];
    const printed = await run(rootRoleid, query, '--operation', 'B', ...variables);
    expect(printed).to.match(/Filter: .*name = \$\d/);
    expect(printed).to.not.include('caller-value');
  });

  it('plans for the role: its rules appear in the statement without their values', async () => {
    const printed = await run(roleid, '{ product { id } secret { id } }');
    expect(printed).to.match(/Filter: .*hidden/);
    expect(printed).to.not.include('rule-value');
    expect(printed).to.match(/-- secret: .*\(PERMISSION_DENIED\)/);
  });

  it('runs no mutation', async () => {
    const count = async (): Promise<unknown> => {
      const { rows } = await testDatabase.database.pool.query(
        `select (select count(*) from tenant_${tenantid}.product) as products, (select count(*) from rowpost.outbox) as events`,
      );
      return rows[0];
    };
    const before = await count();
    const printed = await run(
      rootRoleid,
      `mutation {
        create_product(input: { id: 2000, name: "new" }) { id }
        update_product(id: 1, input: { name: "other" }) { name }
        delete_product(id: 2) { id }
      }`,
    );
    expect(printed)
      .to.include('Insert on product')
      .and.include('Update on product')
      .and.include('Delete on product');
    expect(await count()).to.deep.equal(before);
  });

  it('lists fields that need no statement', async () => {
    expect(await run(rootRoleid, '{ __typename }')).to.equal('-- __typename: resolved without PostgreSQL\n');
  });

  it('treats aggregates as separate fields', async () => {
    const printed = await run(rootRoleid, '{ Aggregates { count(subquery: "{ product { id } }") } }');
    expect(printed)
      .to.match(/^-- Aggregates\.count\n/)
      .and.include('Aggregate');
  });

  it('reports the problem in one line', async () => {
    const shop = ['--tenant', String(tenantid), '--role', String(rootRoleid)];
    expect(await refusal([...shop, '--query', '{ product { nam } }'])).to.include('Cannot query field "nam"');
    expect(await refusal([...shop, '--query', '{ product { id } }', '--variables', '[1]'])).to.include(
      'JSON object',
    );
    expect(await refusal(shop)).to.include('--query is missing');
    expect(await refusal(['--tenant', String(tenantid), '--role', '999', '--query', '{ x }'])).to.include(
      'has no role 999',
    );
    expect(await refusal(['--tenant', 'x', '--role', '1', '--query', '{ x }'])).to.include('--tenant');
  });
});
