import { expect } from 'chai';
import { openShop, type Shop } from '../graphql/support/shop.js';

/** Each name was a key of its own, in each field with the same variable: the statements of one request took gigabytes. */
describe('attack: an aggregate that is to be distinct on one key many times', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop('create table note (id int primary key, word text)');
    await shop.sql("insert into note values (1, 'a'), (2, 'a'), (3, 'b')");
  });
  after(() => shop.close());

  it('has a statement that is as long as with one', async () => {
    const explained = async (distincton: readonly string[]): Promise<readonly string[]> => {
      const fields = await shop.engine.explain(shop.root, {
        query:
          'query ($d: [String]) { Aggregates { max(subquery: "{ note { id word } }", distincton: $d) } }',
        variables: { d: distincton },
      });
      return fields.flatMap(({ statements }) => statements.map(({ sql }) => sql));
    };
    const once = await explained(['word']);
    expect(once).to.have.length(1);
    expect(await explained(Array.from({ length: 1_000 }, () => 'word'))).to.deep.equal(once);
    expect(await explained(['word', ' word ', 'note_word'])).to.deep.equal(once);
  });
});
