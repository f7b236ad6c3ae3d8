import { expect } from 'chai';
import { openShop, type Shop } from '../graphql/support/shop.js';

describe('contract 3.3: arrays are lists with their declared number of dimensions', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(`
      create type mood as enum ('glad', 'sad');
      create domain grid as int[][];
      create table board (
        id int primary key, cells int[][], words text[][], cube int[][][], moods mood[][], docs jsonb[][], row_of int[], field grid
      );`);
  });
  after(() => shop.close());

  it('are typed as such', async () => {
    const { sdl } = await shop.engine.describe(shop.tenant.tenantid, shop.tenant.schema);
    for (const [field, type] of [
      ['cells', '[[Int]]'],
      ['words', '[[String]]'],
      ['cube', '[[[Int]]]'],
      ['moods', '[[String]]'],
      ['docs', '[[GenericScalar]]'],
      ['row_of', '[Int]'],
      ['field', '[[Int]]'],
    ]) {
      expect(sdl.split(`  ${field}: ${type}\n`).length, field).to.equal(3);
    }
  });

  const board = {
    cells: [
      [1, 2],
      [3, null],
    ],
    words: [
      ['a"b', 'c,d'],
      ['{}', ''],
    ],
    cube: [
      [[1], [2]],
      [[3], [4]],
    ],
    moods: [['glad'], ['sad']],
    docs: [
      [{ a: [1, 2] }, [3]],
      [null, 'x'],
    ],
    row_of: [7],
    field: [[5]],
  };
  const fields = Object.keys(board).join(' ');

  it('are written through variables and read back', async () => {
    const made = await shop.data(
      `mutation ($input: boardInput) { create_board(input: $input) { ${fields} } }`,
      { input: { id: 1, ...board } },
    );
    expect(made.create_board).to.deep.equal(board);
    expect((await shop.data(`{ board(filter: "id = 1") { ${fields} } }`)).board).to.deep.equal([board]);
  });

  it('are written as literals, in bulk, and updated', async () => {
    const made = await shop.data(
      'mutation { create_board(input: { id: 2, cells: [[1, 2], [3, 4]] }) { cells } }',
    );
    expect(made.create_board).to.deep.equal({
      cells: [
        [1, 2],
        [3, 4],
      ],
    });
    const many = await shop.data(
      `mutation ($input: [boardInput!]!) { create_many_board(input: $input) { ${fields} } }`,
      { input: [{ id: 3, ...board }] },
    );
    expect(many.create_many_board).to.deep.equal([board]);
    const changed = await shop.data(
      'mutation { update_board(id: 2, input: { cells: [[9]], words: [] }) { cells words } }',
    );
    expect(changed.update_board).to.deep.equal({ cells: [[9]], words: [] });
  });

  it('are refused for ragged rows and unknown labels', async () => {
    const ragged = await shop.ask('mutation { create_board(input: { id: 9, cells: [[1], [2, 3]] }) { id } }');
    expect(ragged.errors![0]!.extensions).to.include({ code: 'BAD_USER_INPUT', column: 'cells' });
    const label = await shop.ask(
      'mutation { create_board(input: { id: 9, moods: [["glad"], ["mad"]] }) { id } }',
    );
    expect(label.errors![0]!.extensions).to.include({ code: 'BAD_USER_INPUT', column: 'moods' });
  });

  it('are found by an element', async () => {
    expect((await shop.data('{ board(filter: "4 in cells") { id } }')).board).to.deep.equal([]);
    expect((await shop.data('{ board(filter: "9 in cells") { id } }')).board).to.deep.equal([{ id: '2' }]);
  });
});
