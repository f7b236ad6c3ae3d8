import { expect } from 'chai';
import { migrateDirectory, openDirectory } from '../../src/db/cells/directory/directory.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** The directory may be in a database where others create objects, as that of a cell. */
describe('attack: functions in public that match the statements of the directory', () => {
  let test: TestDatabase;
  before(async () => {
    test = await createTestDatabase();
  });
  after(() => test.drop());

  it('are not looked up', async () => {
    const directory = openDirectory(test.url, 'test', testLog);
    try {
      await migrateDirectory(directory);
      const { rows } = await directory.pool.query<{ search_path: string }>('show search_path');
      expect(rows).to.deep.equal([{ search_path: 'pg_catalog, pg_temp' }]);
      const { rows: functions } = await directory.pool.query<{ config: string[] | null }>(
        `select proconfig as config from pg_proc where pronamespace = 'rowpost_directory'::regnamespace`,
      );
      expect(functions).to.deep.equal([{ config: ['search_path=pg_catalog, pg_temp'] }]);
    } finally {
      await directory.close();
    }
  });
});
