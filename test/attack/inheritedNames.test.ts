import { expect } from 'chai';
import { openShop, type Shop } from '../graphql/support/shop.js';

/** Names that all JavaScript objects inherit, and that GraphQL and PostgreSQL accept. */
const NAMES = ['constructor', 'valueOf', 'toString', 'hasOwnProperty', 'isPrototypeOf', 'toLocaleString'];

/** A table takes the name of a type, too. */
const TABLES = NAMES.slice(0, 3);
const TYPES = NAMES.slice(3);

const DDL = `
  ${TYPES.map((name) => `create type "${name}" as range (subtype = int4);`).join('\n')}
  create table odd (id int primary key, plain text, ${NAMES.map((name) => `"${name}" text`).join(', ')});
  create table typed (id int primary key, ${TYPES.map((name, i) => `c${i} "${name}"`).join(', ')});
  ${TABLES.map((name) => `create table "${name}" (id int primary key, odd_id int references odd);`).join('\n')}`;

describe('attack: tables, columns, types and arguments are named as what all objects inherit', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(DDL);
  });
  after(() => shop.close());

  const columns = NAMES.join(' ');

  it('a column that is not given is not written', async () => {
    const created = await shop.data(`mutation { create_odd(input: { id: 1, plain: "x" }) { ${columns} } }`);
    expect(created.create_odd).to.deep.equal(Object.fromEntries(NAMES.map((name) => [name, null])));
    const rows = await shop.data(
      'mutation ($rows: [oddInput!]!) { create_many_odd(input: $rows) { id plain } }',
      {
        rows: [{ id: 2 }, { id: 3, plain: 'y' }],
      },
    );
    expect(rows.create_many_odd).to.have.length(2);
    const updated = await shop.data(
      `mutation { update_odd(id: 1, input: { plain: "z" }) { plain ${columns} } }`,
    );
    expect(updated.update_odd).to.deep.include({ plain: 'z', constructor: null, toString: null });
  });

  it('a column that is given is', async () => {
    const input = { id: 4, ...Object.fromEntries(NAMES.map((name) => [name, `its ${name}`])) };
    const created = await shop.data(
      `mutation ($input: oddInput!) { create_odd(input: $input) { id ${columns} } }`,
      { input },
    );
    expect(created.create_odd).to.deep.equal({ ...input, id: '4' });
  });

  it('types, tables and relations of these names are served', async () => {
    const typed = TYPES.map((_, i) => `c${i}`);
    await shop.sql(`insert into typed values (1, ${TYPES.map(() => `'[1,5)'`).join(', ')})`);
    const read = await shop.data(`{ typed { ${typed.join(' ')} } }`);
    expect(read.typed).to.deep.equal([Object.fromEntries(typed.map((name) => [name, '[1,5)']))]);
    for (const name of TABLES) {
      const made = await shop.data(
        `mutation { create_${name}(input: { id: 1, odd_id: 1 }) { id odd { plain } } }`,
      );
      expect(made[`create_${name}`]).to.deep.equal({ id: '1', odd: { plain: 'z' } });
    }
  });

  it('variables and arguments of these names are those that were sent', async () => {
    for (const name of NAMES) {
      const read = await shop.data(`query ($${name}: String) { odd(filter: $${name}) { id } }`);
      expect(read.odd, name).to.have.length(4);
      const filtered = await shop.data(`query ($${name}: String) { odd(filter: $${name}) { id } }`, {
        [name]: `${name} = 'its ${name}'`,
      });
      expect(filtered.odd, name).to.deep.equal([{ id: '4' }]);
      const unknown = await shop.ask(`{ odd(${name}: 1) { id } }`);
      expect(unknown.errors, name).to.have.length(1);
      for (const filter of [`${name}(1)`, `$_PRINCIPAL.${name} = 1`, `${name}.${name} = 1`, `id ${name} 1`]) {
        const refused = await shop.ask('query ($filter: String) { odd(filter: $filter) { id } }', { filter });
        expect(refused.errors?.[0]?.extensions.code, filter).to.match(/^FILTER_/);
      }
    }
  });
});
