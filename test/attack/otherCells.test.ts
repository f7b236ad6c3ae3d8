import { expect } from 'chai';
import { joinDirectory } from '../../src/db/cells/directory/cells.js';
import { migrateDirectory, openDirectory, type Directory } from '../../src/db/cells/directory/directory.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { PXADMIN_PASSWORD, WebFixture } from '../api/webFixture.js';

const TENANTS = '{ tenant { tenantid } }';

describe('attack: a token of another cell, which has the same keys', () => {
  let directoryDatabase: TestDatabase;
  let directory: Directory;
  let cells: { readonly here: WebFixture; readonly there: WebFixture };
  before(async () => {
    directoryDatabase = await createTestDatabase();
    directory = openDirectory(directoryDatabase.url, 'test', testLog);
    await migrateDirectory(directory);
    const start = async (name: string, idRange: number): Promise<WebFixture> => {
      const baseUrl = `http://${name}.example`;
      const fixture = await WebFixture.start({
        env: { DIRECTORY_URL: directoryDatabase.url, CELL: name, CELL_URL: baseUrl },
      });
      await joinDirectory(directory, fixture.testDatabase.database.pool, { name, baseUrl, idRange });
      return fixture;
    };
    const here = await start('here', 0);
    cells = { here, there: await start('there', 1) };
  });
  after(async () => {
    await Promise.all([cells.here.stop(), cells.there.stop()]);
    await directory.close();
    await directoryDatabase.drop();
  });

  it("does not make its pxadmin this cell's", async () => {
    const { here, there } = cells;
    const [own, foreign] = [
      await there.signIn(0, 'pxadmin', PXADMIN_PASSWORD),
      await here.signIn(0, 'pxadmin', PXADMIN_PASSWORD),
    ];
    expect(foreign.roleid, 'of the same id').to.equal(own.roleid);
    expect((await there.control(own.access_token, TENANTS)).errors).to.equal(undefined);
    const response = await there.postJson(
      '/roles_pbac',
      { query: TENANTS },
      { authorization: `Bearer ${foreign.access_token}` },
    );
    expect([response.status, ((await response.json()) as { code: string }).code]).to.deep.equal([
      401,
      'TOKEN_INVALID',
    ]);
    const refresh = await there.fetch('/auth', {
      headers: { authorization: `Bearer ${foreign.refresh_token}` },
    });
    expect(refresh.status).to.equal(401);
  });

  it('of a tenant is known here, since the tenant may move', async () => {
    const { here, there } = cells;
    const { tenantid } = await here.createTenant('shop');
    const { access_token: token } = await here.signIn(tenantid);
    const response = await there.postJson(
      '/query',
      { query: '{ __typename }' },
      { authorization: `Bearer ${token}` },
    );
    expect(((await response.json()) as { code: string }).code).to.equal('TENANT_MOVED');
  });
});
