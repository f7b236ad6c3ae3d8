import { expect } from 'chai';
import { captureTable } from '../../src/control/utility/capture.js';
import { openShop, type Shop } from '../graphql/support/shop.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** The cast runs as the role that owns `rowpost.value_json`, which converts the captured values of all tenants. */
describe("attack: a cast of a captured row's type changes what converts the values of all tenants", () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(
      `create type e as enum ('a'); create type pair as (e e); create table t (id int primary key, a pair);
       create function to_json(e) returns json language plpgsql as $$ begin return '1'; end $$;
       create cast (e as json) with function to_json(e);
       create function is_good(pair) returns boolean language plpgsql as $$ begin return true; end $$;
       create domain good_pair as pair check (is_good(value));
       create domain better_pair as good_pair check (is_good(value));
       create table checked (id int primary key, a good_pair, b better_pair, c good_pair[])`,
    );
    const { tenantid, schema } = shop.tenant;
    const { database } = shop.test;
    const catalog = await shop.engine.introspect(tenantid, schema);
    for (const table of ['t', 'checked']) {
      const what = { tenantid, catalog, table };
      await inTransaction(database.pool, (trx) => captureTable(trx, database, what, 'all'));
    }
  });
  after(() => shop.close());

  let id = 0;
  const insert = async (cast: string): Promise<unknown> => {
    await shop.sql(
      `create or replace function to_json(e) returns json language plpgsql as $$ begin ${cast} return '1'; end $$`,
    );
    await shop.data(`mutation { create_t(input: {id: ${++id}, a: {e: "a"}}) { id } }`);
    const [event] = await shop.events();
    return event?.new;
  };
  const state = async (): Promise<unknown> => {
    const { rows } = await shop.test.database.pool.query<{ state: string }>(
      `select concat(p.oid, p.proowner, p.proacl, p.prosecdef, r.oid, (select s.setconfig from pg_db_role_setting s where s.setrole = r.oid)) as state
       from pg_roles r left join pg_proc p on p.proname = 'value_json' where r.rolname = $1`,
      [(await shop.test.database.tenants.names()).capture],
    );
    return rows[0]?.state;
  };

  for (const sql of [
    'drop owned by current_user',
    'drop owned by current_user cascade',
    'alter role current_user set role = none',
    `alter role current_user password 'known'`,
    'set local transaction_read_only = off; drop owned by current_user',
  ]) {
    it(`by ${sql}`, async () => {
      const before = await state();
      expect(await insert(`execute '${sql.replaceAll("'", "''")}';`)).to.deep.equal({ id, a: '(a)' });
      expect(await state()).to.equal(before);
    });
  }

  it('in a transaction of its own', async () => {
    const before = await state();
    const caught = `begin execute 'drop owned by current_user cascade'; exception when others then null; end;`;
    expect(await insert(caught)).to.deep.equal({ id, a: { e: 1 } });
    expect(await state()).to.equal(before);
  });

  /** PostgreSQL checks a composite value of a domain when it is passed to a function in PL/pgSQL, before that function begins. */
  it("by a check of the value's domain", async () => {
    const before = await state();
    await shop.sql(
      `create or replace function is_good(pair) returns boolean language plpgsql as $$ begin
         if current_user <> session_user then
           raise warning 'checked as %', current_user;
           execute 'drop owned by current_user cascade';
         end if;
         return true; end $$;
       create or replace function to_json(e) returns json language plpgsql as $$ begin return '1'; end $$;
       insert into checked values (1, '(a)', '(a)', array['(a)'::good_pair])`,
    );
    expect(await state()).to.equal(before);
    const events = await shop.events();
    expect(events.map((event) => event.new)).to.deep.equal([
      { id: 1, a: { e: 1 }, b: { e: 1 }, c: [{ e: 1 }] },
    ]);
  });

  it('leaves the writer its right to write', async () => {
    expect(await insert('')).to.deep.equal({ id, a: { e: 1 } });
    await shop.sql(`insert into t values (100, '(a)'); insert into t values (101, '(a)')`);
    expect((await shop.events()).map((event) => event.new)).to.deep.equal([
      { id: 100, a: { e: 1 } },
      { id: 101, a: { e: 1 } },
    ]);
  });
});
