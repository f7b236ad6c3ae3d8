import { expect } from 'chai';
import type { Principal } from '../../../src/db/roles/principal.js';
import { PrincipalSource } from '../../../src/db/roles/principal.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';
import { adoptTenant, deleteTenant, type AdoptedTenant } from '../../../src/control/tenants/tenants.js';
import { statementsToAdopt, statementsToRelease } from '../../../src/db/tenants/adoption.js';
import { createDataEngine, type DataEngine } from '../../../src/graphql/dataEngine.js';
import { testConfig, testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const COLUMNS = ['id', 'code', 'parent', 'secret'];
const SUBSETS = Array.from({ length: 2 ** COLUMNS.length - 1 }, (_, n) =>
  COLUMNS.filter((_, at) => ((n + 1) >> at) & 1),
);
const tableOf = (columns: readonly string[]): string => `t_${columns.join('_')}`;

describe('what the owner of an adopted schema has revoked', () => {
  let test: TestDatabase;
  let engine: DataEngine;
  let tenant: AdoptedTenant;
  let root: Principal;
  let role: string;

  before(async () => {
    test = await createTestDatabase();
    const { pool, tenants } = test.database;
    const tables = SUBSETS.map((columns) => {
      const name = tableOf(columns);
      return `create table app.${name} (id int primary key, code text unique, parent int references app.parents, secret text default 's');
        insert into app.${name} values (1, 'a', 1, 'hush'), (2, 'b', null, null), (3, null, 2, 'x');`;
    });
    await pool.query(`create schema app; create table app.parents (id int primary key, name text);
      insert into app.parents values (1, 'one'), (2, 'two');
      create table app.reports (id int primary key, total int); create table app.fresh_before (id int primary key);
      ${tables.join('\n')}`);
    tenant = await adoptTenant(pool, {
      name: 'app',
      schema: 'app',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    root = (await new PrincipalSource(pool).load(tenant.tenantid, tenant.rootRoleid))!;
    role = (await tenants.names()).tenant(tenant.tenantid);
    engine = createDataEngine({
      database: test.database,
      config: testConfig(),
      log: testLog,
      onCommitted: () => undefined,
    });
    await ask('{ parents { id } }');
    const revoked = SUBSETS.map(
      (columns) =>
        `revoke all on app.${tableOf(columns)} from ${role}; grant select (${columns.join(', ')}), update (code) on app.${tableOf(columns)} to ${role};`,
    );
    await pool.query(`${revoked.join('\n')} revoke insert, update, delete on app.reports from ${role}`);
  });
  after(() => test.drop());

  const ask = async (
    query: string,
  ): Promise<{ data?: Record<string, unknown>; errors?: { extensions: { code: string } }[] }> =>
    JSON.parse((await engine.execute(root, { query }, { allowMutation: true })).body) as never;
  const catalog = () => engine.introspect(tenant.tenantid, 'app');
  /** What the role has, by PostgreSQL. */
  const rights = async (): Promise<unknown> => {
    const { rows } = await test.database.pool.query(
      `select c.relname, c.relacl::text, array(select concat_ws(' ', attname, attacl::text) from pg_attribute
         where attrelid = c.oid and attacl is not null order by attnum) as columns
       from pg_class c where relnamespace = 'app'::regnamespace and relkind = 'r' order by relname`,
    );
    return rows;
  };
  /** A statement's result as the tenant's role itself gets it. */
  const asRole = (statement: string): Promise<unknown> =>
    inTransaction(test.database.pool, async (tx) => {
      await tx.query(`set local role ${role}`);
      return (await tx.query(statement)).rows as unknown;
    });

  it('stays revoked when the schema is read again, and is not called missing', async () => {
    const before = await rights();
    await catalog();
    expect(await rights()).to.deep.equal(before);
    expect(
      await statementsToAdopt(test.database.pool, { tenantid: tenant.tenantid, schema: 'app' }),
    ).to.deep.equal([]);
    const refused = await ask('mutation { create_reports(input: { id: 1 }) { id } }');
    expect(refused.errors?.[0]?.extensions.code).to.equal('PERMISSION_DENIED');
    expect((await ask('{ reports { id total } }')).data).to.deep.equal({ reports: [] });
  });

  it('is granted where the role has nothing yet', async () => {
    const { pool } = test.database;
    await pool.query(
      `revoke all on app.fresh_before from ${role}; create table app.fresh (id int primary key)`,
    );
    await catalog();
    for (const name of ['fresh', 'fresh_before'])
      expect((await ask(`mutation { create_${name}(input: { id: 1 }) { id } }`)).errors, name).to.equal(
        undefined,
      );
    await pool.query('drop table app.fresh, app.fresh_before');
  });

  for (const columns of SUBSETS) {
    const name = tableOf(columns);
    const isWhole = columns.length === COLUMNS.length;
    const one = columns.at(-1)!;
    // Keys are strings.
    const list = columns.map((column) => (column === 'id' ? `${column}::text` : column)).join(', ');

    it(`leaves ${columns.join(', ')} to read`, async () => {
      const table = (await catalog()).tables.get(name)!;
      expect([...table.columns.keys()]).to.deep.equal(columns);
      const order = columns.includes('id') ? 'id' : one;
      const { data, errors } = await ask(`{
        all: ${name}(ordering: "${order}") { ${columns.join(' ')} }
        page: ${name}(ordering: "${order}", filter: "${one} is not null", limit: 1, offset: 1) { ${columns.join(' ')} }
        ${columns.includes('parent') ? `parents(ordering: "id") { rows: ${name}_collection { ${one} } } nested: ${name}(ordering: "${order}") { parents { name } }` : ''}
        Aggregates { grouped: count(subquery: "{ ${name}(limit: 2, ordering: \\"${order}\\") { ${one} } }") }
      }`);
      expect(errors).to.equal(undefined);
      expect(data?.['all']).to.deep.equal(
        await asRole(`select ${list} from app.${name} t order by t.${order}`),
      );
      expect(data?.['page']).to.deep.equal(
        await asRole(
          `select ${list} from app.${name} t where t.${one} is not null order by t.${order} limit 1 offset 1`,
        ),
      );
      expect(data?.['Aggregates']).to.deep.equal({
        grouped: await asRole(
          `select count(${one})::int from (select ${one} from app.${name} order by ${order} limit 2) t`,
        ),
      });
      if (columns.includes('parent')) {
        expect(data?.['nested']).to.deep.equal(
          (
            (await asRole(
              `select p.name from app.${name} t left join app.parents p on p.id = t.parent order by t.${order}`,
            )) as { name: string | null }[]
          ).map((parents) => ({ parents: parents.name === null ? null : parents })),
        );
      }
    });

    it(`hides ${COLUMNS.filter((column) => !columns.includes(column)).join(', ') || 'nothing'} besides ${columns.join(', ')}`, async () => {
      for (const hidden of COLUMNS.filter((column) => !columns.includes(column))) {
        for (const [query, code] of [
          [`{ ${name} { ${hidden} } }`, 'GRAPHQL_VALIDATION'],
          [`{ ${name}(filter: "${hidden} is null") { ${one} } }`, 'FILTER_UNKNOWN_COLUMN'],
          [`{ ${name}(ordering: "${hidden}") { ${one} } }`, 'ORDERING_INVALID'],
          [`{ Aggregates { max(subquery: "{ ${name} { ${hidden} } }") } }`, 'GRAPHQL_VALIDATION'],
        ] as const)
          expect((await ask(query)).errors?.[0]?.extensions.code, query).to.equal(code);
      }
      // If every column may be read, so may what events record, and the privilege to update "code" suffices.
      const written = await ask(`mutation { update_${name}(id: 1, input: { code: "a" }) { __typename } }`);
      expect(written.errors?.[0]?.extensions.code).to.equal(isWhole ? undefined : 'GRAPHQL_VALIDATION');
    });
  }

  it('is served again once it is granted', async () => {
    const name = tableOf(['id', 'code']);
    await test.database.pool.query(`grant select, insert, update, delete on app.${name} to ${role}`);
    await catalog();
    const { data, errors } = await ask(
      `mutation { update_${name}(id: 1, input: { code: "z" }) { id code secret parents { name } } }`,
    );
    expect(errors).to.equal(undefined);
    expect(data?.[`update_${name}`]).to.deep.equal({
      id: '1',
      code: 'z',
      secret: 'hush',
      parents: { name: 'one' },
    });
  });

  it('leaves nothing behind when the schema is released', async () => {
    const { pool } = test.database;
    const revokes = await statementsToRelease(pool, { tenantid: tenant.tenantid, schema: 'app' });
    expect(revokes.map(String).join('\n')).to.contain(`app.${tableOf(['id'])} from`);
    await inTransaction(pool, (tx) => deleteTenant(tx, tenant.tenantid));
    expect(JSON.stringify(await rights())).to.not.contain(role);
  });
});
