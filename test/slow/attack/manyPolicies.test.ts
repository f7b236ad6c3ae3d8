import { expect } from 'chai';
import type pg from 'pg';
import { adoptTenant, deleteTenant } from '../../../src/control/tenants/tenants.js';
import { leaveCell } from '../../../src/db/cells/moving/leaveCell.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';
import type { AppError } from '../../../src/foundation/errors.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { documentedScript } from '../../support/documentedScript.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const ROOT = { rootLogin: 'root', rootPassword: 'correct horse' };
const POLICIES = 20_000;
const LARGE_OBJECTS = 30_000;

/**
 * PostgreSQL locks each policy that names a role when the role is dropped. So nobody could delete a tenant for which another one had made
 * policies, and whoever tried took all locks: the writes of others failed.
 */
describe('attack: more locks than PostgreSQL has, to drop a tenant', () => {
  let test: TestDatabase;
  beforeEach(async () => (test = await createTestDatabase()));
  afterEach(() => test.drop());

  const asTenant = async (tenantid: number, work: (session: pg.Client) => Promise<void>): Promise<void> => {
    const session = await test.database.tenants.connectDirectly(tenantid);
    try {
      await session.query("set statement_timeout = '60s'");
      await work(session);
    } finally {
      await session.end();
    }
  };
  const deletionOf = (tenantid: number): Promise<AppError | undefined> =>
    inTransaction(test.database.pool, (tx) => deleteTenant(tx, tenantid)).then(
      () => undefined,
      (error: unknown) => error as AppError,
    );

  it('for policies of another one that name its role: says whose', async () => {
    const { pool, tenants } = test.database;
    const hostile = await createTestTenant(pool, { ...ROOT, name: 'hostile' });
    const other = await createTestTenant(pool, { ...ROOT, name: 'other' });
    const role = (await tenants.names()).tenant(other.tenantid);
    const [notes, more] = [`${hostile.schema}.notes`, `${hostile.schema}.more`];
    await asTenant(hostile.tenantid, async (session) => {
      await session.query(
        `create table ${notes} (id int); create table ${more} (id int); create policy p on ${more} to ${role};
         do $$ begin
           for i in 1..${POLICIES} loop execute format('create policy p%s on ${notes} to ${role}', i); end loop;
         end $$`,
      );
    });
    const failure = await deletionOf(other.tenantid);
    expect(failure).to.have.property('code', 'SCHEMA_TOO_LARGE');
    expect(failure?.message).to.include(`needs ${POLICIES + 4} locks`);
    expect(failure?.hint).to.include(`policies for "${role}" in "${hostile.schema}", in parts`);
    await runTenantSql(test.database, {
      tenantid: hostile.tenantid,
      sql: documentedScript('how-to/monitor.md', 'policies').replace('$ROLE', role),
    });
    expect(await deletionOf(other.tenantid)).to.equal(undefined);
    expect(await deletionOf(hostile.tenantid)).to.equal(undefined);
  });

  const withLargeObjects = async (tenantid: number): Promise<void> =>
    asTenant(tenantid, async (session) => {
      await session.query('select count(lo_create(0)) from generate_series(1, $1)', [LARGE_OBJECTS]);
    });

  it('for what the role of an adopted schema owns', async () => {
    const { pool } = test.database;
    await pool.query('create schema crm; create table crm.contact (id int primary key)');
    const { tenantid } = await adoptTenant(pool, { ...ROOT, name: 'crm', schema: 'crm' });
    await withLargeObjects(tenantid);
    const failure = await deletionOf(tenantid);
    expect(failure).to.have.property('code', 'SCHEMA_TOO_LARGE');
  });

  it('for what a tenant leaves in a cell', async () => {
    const { pool, tenants } = test.database;
    const { tenantid, schema } = await createTestTenant(pool, { ...ROOT, name: 'moved' });
    await withLargeObjects(tenantid);
    await pool.query(`update rowpost.tenant set moved_to = 'elsewhere', move = 1 where tenantid = $1`, [
      tenantid,
    ]);
    const role = (await tenants.names()).tenant(tenantid);
    const failure = await leaveCell(pool, { tenantid, schema, role }, 1).catch(
      (error: unknown) => error as AppError,
    );
    expect(failure).to.have.property('code', 'SCHEMA_TOO_LARGE');
  });
});
