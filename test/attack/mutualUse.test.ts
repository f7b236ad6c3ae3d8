import { expect } from 'chai';
import { deleteTenant, type CreatedTenant } from '../../src/control/tenants/tenants.js';
import { leaveCell } from '../../src/db/cells/moving/leaveCell.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

const ROOT = { rootLogin: 'root', rootPassword: 'correct horse battery' };

/**
 * Each of two tenants owned a type in the other's schema that the other's table had. PostgreSQL drops what a role owns only if nothing
 * depends on it, so neither could be deleted, or leave its cell after a move.
 */
describe('attack: two tenants that use what the other owns', () => {
  let test: TestDatabase;
  let one: CreatedTenant;
  let other: CreatedTenant;
  beforeEach(async () => {
    test = await createTestDatabase();
    const { pool, tenants } = test.database;
    const names = await tenants.names();
    one = await createTestTenant(pool, { ...ROOT, name: 'one' });
    other = await createTestTenant(pool, { ...ROOT, name: 'other' });
    const pairs = [
      { host: one, guest: other },
      { host: other, guest: one },
    ];
    for (const { host, guest } of pairs)
      await run(host, `grant usage, create on schema ${host.schema} to ${names.tenant(guest.tenantid)}`);
    for (const { host, guest } of pairs)
      await run(
        guest,
        `create type ${host.schema}.mood as enum ('glad'); grant usage on type ${host.schema}.mood to public`,
      );
    for (const { host } of pairs)
      await run(host, `create table note (id int primary key, mood mood); insert into note values (1)`);
  });
  afterEach(() => test.drop());

  const run = ({ tenantid }: CreatedTenant, sql: string): Promise<unknown> =>
    runTenantSql(test.database, { tenantid, sql });
  const rolesLeft = async (): Promise<number> => {
    const { pool, tenants } = test.database;
    const { tenantPrefix } = await tenants.names();
    const { rowCount } = await pool.query('select from pg_roles where starts_with(rolname, $1)', [
      tenantPrefix,
    ]);
    return rowCount ?? 0;
  };

  it('are deleted', async () => {
    const { pool } = test.database;
    await inTransaction(pool, (tx) => deleteTenant(tx, one.tenantid));
    const { rows } = await pool.query(`select * from ${other.schema}.note`);
    expect(rows).to.deep.equal([{ id: 1 }]);
    await inTransaction(pool, (tx) => deleteTenant(tx, other.tenantid));
    expect(await rolesLeft()).to.equal(0);
  });

  it('leave their cell', async () => {
    const { pool, tenants } = test.database;
    const names = await tenants.names();
    for (const { tenantid, schema } of [one, other]) {
      await pool.query(`update rowpost.tenant set moved_to = 'there', move = 1 where tenantid = $1`, [
        tenantid,
      ]);
      expect(await leaveCell(pool, { tenantid, schema, role: names.tenant(tenantid) }, 1)).to.equal(true);
    }
    expect(await rolesLeft()).to.equal(0);
  });
});
