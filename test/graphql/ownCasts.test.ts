import { expect } from 'chai';
import { openShop, type Shop } from './support/shop.js';

/** As PostGIS does it: a cast to json that fails for some values, of scalars, lists and keys. */
const DDL = `
  create type shape as enum ('point', 'curve');
  create function to_geojson(shape) returns json immutable language plpgsql as
    $$ begin if $1 = 'curve' then raise exception 'not supported in GeoJSON' using errcode = 'XX000'; end if; return '{"type":"Point"}'; end $$;
  create cast (shape as json) with function to_geojson(shape);
  create table place (id int primary key, name text, geom shape, geoms shape[]);
  create table keyed (geom shape primary key, name text)`;

describe('rows of types whose cast to json fails', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(DDL)));
  after(() => shop.close());

  it('are created, changed, read and deleted, with their text in the events', async () => {
    const input = '{geom: "curve", geoms: ["point", "curve"]';
    await shop.data(`mutation {
      a: create_place(input: ${input}, id: 1}) { geom geoms }
      b: create_place(input: ${input}, id: 1, name: "x"}, onconflict: update) { geom }
      c: create_many_place(input: [${input}, id: 2}, ${input}, id: 1}], onconflict: update) { geom }
      d: update_place(id: 1, input: {name: "y"}) { geom }
      e: delete_place(id: 1) { geom }
      f: create_keyed(input: {geom: "curve"}) { geom }
    }`);
    const events = await shop.events();
    expect(events.map(({ operation }) => operation).sort()).to.deep.equal([
      'delete',
      'insert',
      'insert',
      'insert',
      'update',
      'update',
      'update',
    ]);
    for (const { target, key, old, new: now } of events) {
      for (const row of [old, now]) {
        if (row && target === 'place')
          expect(row).to.include({ geom: 'curve' }).and.to.have.deep.property('geoms', ['point', 'curve']);
      }
      if (target === 'keyed')
        expect([key, now]).to.deep.equal([{ geom: 'curve' }, { geom: 'curve', name: null }]);
    }
  });
});
