import { expect } from 'chai';
import { noteChanges } from '../../src/db/cells/moving/followChanges.js';
import { listTables } from '../../src/db/cells/moving/movedTables.js';
import { identifier, statement } from '../../src/db/sql/sql.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

/** `row.name` calls the function `name` where the row has no such column. */
describe('attack: a column of a key is renamed while its table moves', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop('');
    const { schema } = shop.tenant;
    await shop.sql(`
      create type word as enum ('one', 'two');
      create table seen (by text);
      create function word_as_json(w word) returns json language plpgsql as
        $$ begin insert into ${schema}.seen values (current_user); return to_json(w::text); end $$;
      create cast (word as json) with function word_as_json(word);
      create table item (row_to_json word primary key, note word);
      create table old_item (row_to_json word primary key, note word)`);
  });
  after(() => shop.close());

  it('runs no cast of the tenant as the service, and writes go on', async () => {
    const { database } = shop.test;
    const { tenantid, schema } = shop.tenant;
    const here = { tenantid, schema, role: (await database.tenants.names()).tenant(tenantid) };
    await noteChanges(database.pool, here, await listTables(database.pool, schema));
    await shop.sql(`
      insert into item values ('one', 'two');
      alter table item rename row_to_json to id;
      insert into item values ('two', 'two')`);
    const { rows } = await database.pool.query(
      `select (select count(*)::int from ${schema}.item) as items, array(select by from ${schema}.seen) as ran,
         array(select key from rowpost.move_change) as keys`,
    );
    expect(rows).to.deep.equal([{ items: 2, ran: [], keys: [{ row_to_json: 'one' }] }]);
    await database.pool.query('delete from rowpost.move_change');
  });

  it('neither in a transaction that sees the old name', async () => {
    const { database } = shop.test;
    const { tenantid, schema } = shop.tenant;
    const writer = await database.tenants.connectDirectly(tenantid);
    try {
      await writer.query('begin isolation level repeatable read; select 1');
      await shop.sql('alter table old_item rename row_to_json to id');
      await writer.query(statement`insert into ${identifier(schema, 'old_item')} values ('two', 'two')`);
      await writer.query('commit');
    } finally {
      await writer.end();
    }
    const { rows } = await database.pool.query(
      `select (select count(*)::int from ${schema}.old_item) as items, array(select by from ${schema}.seen) as ran,
         array(select key from rowpost.move_change) as keys`,
    );
    expect(rows).to.deep.equal([{ items: 1, ran: [], keys: [] }]);
  });
});
