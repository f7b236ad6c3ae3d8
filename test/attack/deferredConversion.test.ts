import { expect } from 'chai';
import { captureTable } from '../../src/control/utility/capture.js';
import { identifier, statement } from '../../src/db/sql/sql.js';
import { openShop, type Shop } from '../graphql/support/shop.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** Casts run as the role that owns `rowpost.value_json`, read-only. What they leave for the end of the transaction may write. */
describe("attack: a cast of a captured row's type leaves a trigger for the end of the transaction", () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(
      `create type e as enum ('a'); create type pair as (e e); create table t (id int primary key, a pair);
       create function to_json(e) returns json language plpgsql as $$ begin return '1'; end $$;
       create cast (e as json) with function to_json(e)`,
    );
    const { tenantid, schema } = shop.tenant;
    const { pool, tenants } = shop.test.database;
    const catalog = await shop.engine.introspect(tenantid, schema);
    const what = { tenantid, catalog, table: 't' };
    await inTransaction(pool, (trx) => captureTable(trx, shop.test.database, what, 'all'));
    // As in a database that is not the service's own, or an application with a schema that was adopted.
    const { rows } = await pool.query<{ name: string }>('select current_database()::text as name');
    const role = (await tenants.names()).tenant(tenantid);
    await pool.query(
      statement`grant temporary on database ${identifier(rows[0]!.name)} to ${identifier(role)}`,
    );
  });
  after(() => shop.close());

  const functionOwner = async (): Promise<unknown> => {
    const { rows } = await shop.test.database.pool.query(
      `select proowner::regrole::text as owner, prosecdef from pg_proc where proname = 'value_json'`,
    );
    return rows;
  };
  const insert = async (temporary: string): Promise<unknown> => {
    await shop.sql(
      `create or replace function to_json(e) returns json language plpgsql as $$ begin insert into pg_temp.q values (1); return '1'; end $$;
       create or replace function later() returns trigger language plpgsql as $$ begin execute 'drop owned by current_user'; return null; end $$;
       create or replace function act() returns int language plpgsql as $$ begin execute 'drop owned by current_user'; return 1; end $$;
       create or replace function later(int) returns int immutable language plpgsql as $$ begin
         if current_user <> session_user then return act(); end if; return $1; end $$;
       create temp table q (i int); grant insert, select on q to public;
       ${temporary};
       truncate t; insert into t values (1, '(a)')`,
    );
    const events = await shop.events();
    return events.find(({ operation }) => operation === 'insert')?.new;
  };

  for (const [what, temporary] of Object.entries({
    'of its own':
      'create constraint trigger later after insert on q deferrable initially deferred for each row execute function later()',
    'that checks a constraint':
      'alter table q add exclude using btree (later(i) with =) deferrable initially deferred; insert into q values (1)',
  })) {
    it(what, async () => {
      const before = await functionOwner();
      expect(before).to.have.length(1);
      expect(await insert(temporary)).to.deep.equal({ id: 1, a: '(a)' });
      expect(await functionOwner()).to.deep.equal(before);
    });
  }

  it('is no reason to convert no value where there is none', async () => {
    expect(await insert('select')).to.deep.equal({ id: 1, a: { e: 1 } });
  });
});
