import { expect } from 'chai';
import {
  publicPrivileges,
  revokePublicAccess,
  rolesThatMayNotConnect,
} from '../../../src/db/isolation/databaseGrants.js';
import { adoptTenant } from '../../../src/control/tenants/tenants.js';
import { statementsToAdopt, statementsToRelease } from '../../../src/db/tenants/adoption.js';
import { testServer, type TestServer } from '../../support/postgresServer.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

describe('the privilege to connect to the database', () => {
  let server: TestServer;
  let test: TestDatabase;
  let database: string;
  let owner: string;
  /** Statements with which the service becomes a member of the owner, and no longer is. */
  let joining: string;
  let leaving: string;

  before(async () => {
    server = await testServer();
    test = await createTestDatabase();
    const { rows } = await test.database.pool.query<{ name: string; oid: number; service: string }>(
      'select datname as name, oid, current_user as service from pg_database where datname = current_database()',
    );
    const { name, oid, service } = rows[0]!;
    [database, owner] = [name, `app_${oid}`];
    joining = `grant ${owner} to ${service}`;
    leaving = `revoke ${owner} from ${service}`;
    await server.run(`create role ${owner}; ${joining}; alter database ${database} owner to ${owner}`);
    await server.run(`grant create, connect on database ${database} to ${service}`);
  });
  after(async () => {
    await server.run(joining);
    await test.drop();
    await server.run(`drop role ${owner}`);
  });

  it("stays everybody's in an application's database, even for a member of its owner", async () => {
    expect(await revokePublicAccess(test.database.pool)).to.equal(false);
    expect(await publicPrivileges(test.database.pool)).to.deep.equal(['connect', 'temporary']);
  });

  it('is requested from the owner for roles that lack it', async () => {
    const { pool, tenants } = test.database;
    const { shared, ...names } = await tenants.names();
    await server.run(`revoke all on database ${database} from public, ${shared}; ${leaving}`);
    await pool.query('create schema crm');
    const tenant = await adoptTenant(pool, {
      name: 'crm',
      schema: 'crm',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    const role = names.tenant(tenant.tenantid);
    expect(await rolesThatMayNotConnect(pool, await tenants.names())).to.have.members([shared, role]);
    const grant = `grant connect on database ${database} to ${role}`;
    expect(tenant.left).to.deep.equal([grant]);
    await server.run(`${joining}; ${grant}; ${leaving}`);
    expect(await statementsToAdopt(pool, tenant)).to.deep.equal([]);
    expect(await rolesThatMayNotConnect(pool, await tenants.names())).to.deep.equal([shared]);
    expect(await statementsToRelease(pool, tenant)).to.include(
      `revoke all on database ${database} from ${role}`,
    );
  });
});
