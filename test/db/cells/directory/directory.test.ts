import { expect } from 'chai';
import { readCells } from '../../../../src/db/cells/directory/cells.js';
import { useDirectory } from '../../../../src/db/cells/directory/directory.js';
import { testLog } from '../../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../../support/testDatabase.js';

describe('a directory that was never released', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());

  it('is reported with the command that does it', async () => {
    const refusal: unknown = await useDirectory(database.url, 'test', testLog, async (directory) => {
      await readCells(directory);
    }).catch((error: unknown) => error);
    expect(refusal).to.have.property('name', 'UsageError');
    expect((refusal as Error).message).to.include('rowpost directory release');
  });
});
