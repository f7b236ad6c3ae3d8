import { expect } from 'chai';
import { buildSchema, validateSchema } from 'graphql';
import type pg from 'pg';
import { readSchema } from '../../../src/db/catalog/introspect.js';
import { waitFor } from '../../support/waitFor.js';
import { openShop, type Shop } from '../../graphql/support/shop.js';

const DDL = `
  create table person (
    id int primary key, name text,
    manager_id int references person
  );
  create table shipment (
    id int primary key,
    sender_id int references person, receiver_id int references person,
    carrier int, person text
  );
  create table tag (id int primary key, name text);
  create table person_tag (person_id int references person, tag_id int references tag, primary key (person_id, tag_id));
  create table knows (
    from_person_id int references person, to_person_id int references person,
    primary key (from_person_id, to_person_id)
  );
  create table place (country text, city text, mayor_id int unique references person, primary key (country, city));
  create table house (id int primary key, country text, city text, foreign key (country, city) references place);
  create table "Mixed Case" (id int primary key, "a b" text, "a_b" text, "1st" int, "__x" int);
  create table "Mixed_Case" (id int primary key);
  create table "Query" (id int primary key);
  create table keyless (word text);
  create view adults as select id, name from person;
  insert into person values (1, 'Ada', null), (2, 'Bob', 1), (3, 'Cy', 1);
  insert into shipment values (1, 1, 2, 7, 'box');
  insert into tag values (1, 'red'), (2, 'blue');
  insert into person_tag values (1, 1), (1, 2), (2, 1);
  insert into knows values (1, 2), (3, 1);
  insert into place values ('CH', 'Bern', 3);
  insert into house values (1, 'CH', 'Bern');
  insert into "Mixed Case" values (1, 'x', 'y', 3, 4);
  insert into keyless values ('b'), ('a');
`;

describe('the catalog', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(DDL)));
  after(() => shop.close());

  const relationsOf = async (table: string): Promise<readonly string[]> => {
    const catalog = await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema);
    return [...catalog.tables.get(table)!.relations.keys()].sort();
  };

  it('names relations in both directions', async () => {
    expect(await relationsOf('house')).to.deep.equal(['place']);
    expect(await relationsOf('place')).to.deep.equal(['house_collection', 'person']);
  });

  it('names two foreign keys to one table after their columns', async () => {
    expect(await relationsOf('shipment')).to.deep.equal(['receiver_person', 'sender_person']);
    expect(await relationsOf('person')).to.deep.equal([
      'from_person_knows_collection',
      'knows_from_person_person_collection',
      'knows_to_person_person_collection',
      'person',
      'person_collection',
      'person_tag_collection',
      'place_collection',
      'receiver_shipment_collection',
      'sender_shipment_collection',
      'tag_collection',
      'to_person_knows_collection',
    ]);
  });

  it('follows self references, composite keys and many-to-many', async () => {
    const data = await shop.data(`{
      person(filter: "id = 1") {
        person { name }
        person_collection { name }
        tag_collection(ordering: "name") { name person_collection { id } }
        knows_to_person_person_collection { name }
        knows_from_person_person_collection { name }
      }
      house { place { city person { name } } }
      shipment { person sender_person { name } receiver_person { name } }
    }`);
    expect(data).to.deep.equal({
      person: [
        {
          person: null,
          person_collection: [{ name: 'Bob' }, { name: 'Cy' }],
          tag_collection: [
            { name: 'blue', person_collection: [{ id: '1' }] },
            { name: 'red', person_collection: [{ id: '1' }, { id: '2' }] },
          ],
          knows_to_person_person_collection: [{ name: 'Bob' }],
          knows_from_person_person_collection: [{ name: 'Cy' }],
        },
      ],
      house: [{ place: { city: 'Bern', person: { name: 'Cy' } } }],
      shipment: [{ person: 'box', sender_person: { name: 'Ada' }, receiver_person: { name: 'Bob' } }],
    });
  });

  it('maps illegal names and reports collisions', async () => {
    const { tables, problems } = await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema);
    expect([...tables.keys()]).to.include.members(['Mixed_Case', 'Mixed_Case_2', 'Query_2']);
    expect(tables.get('Mixed_Case_2')!.sqlName).to.equal('Mixed Case');
    expect([...tables.get('Mixed_Case_2')!.columns.keys()]).to.deep.equal([
      'id',
      'a_b_2',
      'a_b',
      '_1st',
      '_x',
    ]);
    expect(problems).to.have.length(3);
    expect(problems.join('\n')).to.include('Mixed Case').and.include('Query').and.include('a b');
    const data = await shop.data('{ Mixed_Case_2 { a_b_2 a_b _1st _x } }');
    expect(data.Mixed_Case_2).to.deep.equal([{ a_b_2: 'x', a_b: 'y', _1st: 3, _x: 4 }]);
  });

  it("gives names without a legal character names that are not GraphQL's own", async () => {
    await shop.sql(`create table 人 ("列" int primary key, "名" text, "友_id" int references 人, "敵_id" int references 人);
      create table 市 ("列" int primary key, "長" int references 人); insert into 人 values (1, 'Mei', null, 1)`);
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
    const { sdl } = await shop.engine.describe(shop.tenant.tenantid, shop.tenant.schema);
    expect(validateSchema(buildSchema(sdl))).to.deep.equal([]);
    const data = await shop.data('{ _ { _ _2 _id _id_2 } _2 { _ } }');
    expect(data).to.deep.equal({ _: [{ _: '1', _2: 'Mei', _id: null, _id_2: 1 }], _2: [] });
    await shop.sql('drop table 市, 人');
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
  });

  it('reports a create_many_ whose name a table has taken', async () => {
    await shop.sql('create table crate (id int primary key); create table many_crate (id int primary key)');
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
    const { problems } = await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema);
    expect(problems).to.include(
      'crate: there is no create_many_crate for it, since that is the create_ of many_crate',
    );
    await shop.sql('drop table crate, many_crate');
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
  });

  it('serves views and tables without a key, read-only', async () => {
    const data = await shop.data(
      '{ adults(ordering: "name desc") { name } keyless(ordering: "word") { word } }',
    );
    expect(data).to.deep.equal({
      adults: [{ name: 'Cy' }, { name: 'Bob' }, { name: 'Ada' }],
      keyless: [{ word: 'a' }, { word: 'b' }],
    });
    const { sdl } = await shop.engine.describe(shop.tenant.tenantid, shop.tenant.schema);
    expect(sdl)
      .to.include('create_person(')
      .and.not.include('create_adults')
      .and.not.include('create_keyless');
  });

  it('is described as SDL and as an introspection result', async () => {
    const { sdl, introspectionJson } = await shop.engine.describe(shop.tenant.tenantid, shop.tenant.schema);
    expect(sdl).to.include('person(filter: String, ordering: [String], limit: Int, offset: Int): [person]');
    expect(sdl).to.include('create_person(input: personInput, onconflict: OnConflict): person');
    expect(sdl).to.include('update_place(country: ID!, city: ID!, input: placeInput): place');
    expect(sdl).to.include('id: ID!');
    expect(JSON.parse(introspectionJson)).to.have.property('__schema');
  });

  describe('when the tables change', () => {
    it('sees a new column immediately if a request names it', async () => {
      expect((await shop.data('{ tag(limit: 1) { name } }')).tag).to.have.length(1);
      await shop.sql("alter table tag add column shade text default 'deep'");
      expect((await shop.data('{ tag(limit: 1) { shade } }')).tag).to.deep.equal([{ shade: 'deep' }]);
    });

    it('survives a dropped column by recompiling the plan', async () => {
      await shop.sql('alter table tag add column brief int default 1');
      for (let run = 0; run < 6; run++) await shop.data('{ tag { brief } }');
      await shop.sql('alter table tag drop column brief');
      const reply = await shop.ask('{ tag { brief } }');
      expect(reply.errors![0]!.extensions.code).to.equal('GRAPHQL_VALIDATION');
    });

    it('shows changes within one check interval, whoever made them', async () => {
      await shop.test.database.pool.query(
        `create table ${shop.tenant.schema}.made_by_hand (id int primary key); insert into ${shop.tenant.schema}.made_by_hand values (1)`,
      );
      await waitFor('the new table', async () => {
        const catalog = await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema);
        return catalog.tables.has('made_by_hand');
      });
      // made by the service's role: the tenant's role was granted what it lacked
      expect((await shop.data('{ made_by_hand { id } }')).made_by_hand).to.deep.equal([{ id: '1' }]);
      await shop.data('mutation { create_made_by_hand(input: { id: 2 }) { id } }');
    });

    it('shows changes to a busy tenant, without notification', async () => {
      await shop.data('{ tag(limit: 1) { name } }');
      await shop.test.database.pool.query(
        `alter table ${shop.tenant.schema}.tag add column told_by_nobody int`,
      );
      await waitFor('the new column', async () => {
        const { sdl } = await shop.engine.describe(shop.tenant.tenantid, shop.tenant.schema);
        return sdl.includes('told_by_nobody');
      });
    });

    it('keeps its catalog and plans while tables are unchanged', async () => {
      const before = await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema);
      expect(await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema)).to.equal(before);
    });
  });

  it('reads the foreign keys of a table with a few scans, however many tables there are', async () => {
    const tables = 240; // PostgreSQL plans otherwise for few.
    const ddl = Array.from({ length: tables }, (_, n) => {
      const references =
        n === 0 ? '' : `, p int references t${n - 1}, q int references t${n - 1}, r int references t0`;
      return `create table t${n} (id int primary key, a int not null check (a > 0), b int not null check (b > 0), c int not null${references})`;
    });
    const client = await shop.test.database.pool.connect();
    try {
      await client.query(`begin; create schema many; set local search_path = many; ${ddl.join(';')};
        analyze pg_constraint; analyze pg_class; analyze pg_depend; analyze pg_attribute`);
      const scans = async (): Promise<number> => {
        const { rows } = await client.query<{ scans: string }>(
          `select idx_scan as scans from pg_stat_xact_sys_tables where relname = 'pg_constraint'`,
        );
        return Number(rows[0]?.scans);
      };
      const before = await scans();
      const { tables: read } = await readSchema(client as unknown as pg.Pool, 'many');
      expect(read).to.have.length(tables);
      expect(read.flatMap(({ foreignKeys }) => foreignKeys)).to.have.length(3 * (tables - 1));
      expect((await scans()) - before).to.be.below(10 * tables);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });

  it('leaves out foreign keys that compare periods', async () => {
    await shop.test.database.pool.query('create extension btree_gist schema public');
    await shop.sql(`
      create table address (id int, valid daterange, primary key (id, valid without overlaps));
      create table employee (id int primary key, valid daterange, address_id int,
        constraint lives_at foreign key (address_id, period valid) references address (id, period valid))`);
    const { problems } = await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
    expect(problems).to.include(
      'employee: the foreign key lives_at compares periods, not values, and is left out',
    );
    expect(await relationsOf('employee')).to.deep.equal([]);
    expect(await relationsOf('address')).to.deep.equal([]);
    await shop.sql('drop table employee, address');
  });

  it('builds one schema for concurrent requests to a cold tenant', async () => {
    shop.engine.forget(shop.tenant.tenantid);
    const catalogs = await Promise.all(
      Array.from({ length: 50 }, () => shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema)),
    );
    expect(new Set(catalogs).size).to.equal(1);
  });
});
