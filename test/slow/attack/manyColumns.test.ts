import { expect } from 'chai';
import { at, WebFixture } from '../../api/webFixture.js';
import { watchEventLoop } from '../../support/loopBlocks.js';

const TABLES = 40;
const COLUMNS = 1_500;

describe('attack: descriptions of tables with tens of thousands of columns', () => {
  let fixture: WebFixture;
  let token: string;
  before(async () => {
    fixture = await WebFixture.start();
    const columns = Array.from({ length: COLUMNS }, (_, column) => `c${column} int`).join(',');
    const tables = Array.from(
      { length: TABLES },
      (_, table) => `create table t${table} (id int primary key, ${columns})`,
    );
    const { tenantid } = await fixture.createTenant('hostile', tables.join(';'));
    ({ access_token: token } = await fixture.signIn(tenantid));
    // The schema is read once.
    await fixture.control(token, '{ Utility { tables { name } } }');
  });
  after(() => fixture.stop());

  it('do not hold the process, however often they are asked for', async () => {
    const fields = Array.from(
      { length: 10 },
      (_, index) =>
        `a${index}: tables { columns { a: nullable b: nullable c: nullable d: nullable e: nullable } }`,
    );
    const longestMs = watchEventLoop();
    const response = await fixture.control(token, `{ Utility { ${fields.join(' ')} } }`);
    const heldMs = longestMs();
    expect(at(response, 'errors.0.extensions.code')).to.equal('DOCUMENT_TOO_COMPLEX');
    expect(heldMs).to.be.below(400);
  });

  it('are complete', async () => {
    const response = await fixture.control(
      token,
      '{ Utility { tables(name: "t7") { name columns { name } relations { field } } } }',
    );
    expect(at(response, 'data.Utility.tables.0.columns')).to.have.length(COLUMNS + 1);
    expect(at(response, 'data.Utility.tables.0.relations')).to.deep.equal([]);
  });
});
