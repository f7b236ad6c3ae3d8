import { expect } from 'chai';
import { inTransaction } from '../../src/db/pool/inTransaction.js';
import { copyRows, type Ends } from '../../src/db/cells/moving/copyRows.js';
import { applyChanges, copyKeyless, noteChanges } from '../../src/db/cells/moving/followChanges.js';
import { fenceTenant, structureOf } from '../../src/db/cells/moving/handOver.js';
import { fillViews } from '../../src/db/cells/moving/references.js';
import { listTables } from '../../src/db/cells/moving/movedTables.js';
import { handOverSchema } from '../../src/db/tenants/lostRoles.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** Code in every place where copying may run it. It fails where it could read other tenants' roles. */
const hostile = (schema: string): string => `
  set local search_path = ${schema};
  create type word as enum ('one', 'two', 'three');
  create function spy(way text) returns void language plpgsql as $$ begin
    begin perform set_config('role', 'none', true); exception when others then null; end;
    if has_schema_privilege('rowpost', 'usage') then raise exception 'ATTACKED by %', way; end if;
  end $$;
  create function word_as_json(w word) returns json language plpgsql as
    $$ begin perform ${schema}.spy('cast to json'); return to_json(w::text); end $$;
  create cast (word as json) with function word_as_json(word);
  create function checked(t text) returns boolean language plpgsql as
    $$ begin perform ${schema}.spy('check'); return true; end $$;
  create domain checked_text as text check (checked(value));
  create function indexed(t text) returns text immutable language plpgsql as
    $$ begin perform ${schema}.spy('index'); return t; end $$;
  create table item (id checked_text primary key, w word, note text check (checked(note)),
    doubled text generated always as (${schema}.indexed(note)) stored);
  create index on item (${schema}.indexed(note));
  create table loose (note text check (checked(note)));
  create function item_as_text(i item) returns text language plpgsql as
    $$ begin perform ${schema}.spy('cast to text'); return 'lost'; end $$;
  create cast (item as text) with function item_as_text(item);
  create materialized view listed as select indexed(note) as note from item;`;
const ROWS = `
  insert into item values ('a', 'one', 'first'), ('b', 'two', 'second');
  insert into loose values ('x');`;

describe("attack: code of a tenant that is moved to another cell runs with the mover's rights", () => {
  let source: TestDatabase;
  let target: TestDatabase;
  let ends: Ends;
  before(async () => {
    [source, target] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    const { database } = source;
    const { tenantid, schema } = await createTestTenant(database.pool, {
      name: 'mallory',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await runTenantSql(database, { tenantid, sql: hostile(schema) + ROWS });
    const here = { tenantid, schema, role: (await database.tenants.names()).tenant(tenantid) };
    const there = { ...here, role: (await target.database.tenants.names()).tenant(tenantid) };
    ends = { source: database, target: target.database, here, there };
  });
  after(() => Promise.all([source.drop(), target.drop()]));

  it('runs as the tenant alone, at both ends, before and after the fence, and every row arrives', async () => {
    const { here, there } = ends;
    const tables = await listTables(ends.source.pool, here.schema);
    const keyed = tables.filter(({ key }) => key.length > 0);
    await noteChanges(ends.source.pool, here, tables);
    const structure = await structureOf(ends.source.pool, here);
    const names = await target.database.tenants.names();
    await inTransaction(ends.target.pool, async (client) => {
      await client.query(`create schema ${there.schema}; ${hostile(there.schema)}`);
      await handOverSchema(client, names, there);
    });
    await copyRows(ends, keyed);
    const write = (sql: string): Promise<unknown> =>
      runTenantSql(source.database, { tenantid: here.tenantid, sql });
    await write(
      `update item set note = 'changed', w = 'three' where id = 'a'; insert into item values ('c')`,
    );
    expect(await applyChanges(ends, tables, false)).to.equal(2);
    await write(`update item set note = 'changed again' where id = 'b'`);
    await fenceTenant(ends.source.pool, here, { move: 1, movedTo: 'there', structure });
    expect(await applyChanges(ends, tables, true)).to.equal(1);
    await copyKeyless(ends, tables);
    await fillViews(ends);
    const { rows } = await ends.target.pool.query(
      `select id, w::text as word, note, doubled from ${there.schema}.item order by id`,
    );
    expect(rows).to.deep.equal([
      { id: 'a', word: 'three', note: 'changed', doubled: 'changed' },
      { id: 'b', word: 'two', note: 'changed again', doubled: 'changed again' },
      { id: 'c', word: null, note: null, doubled: null },
    ]);
    const { rowCount } = await ends.target.pool.query(`select from ${there.schema}.loose`);
    expect(rowCount).to.equal(1);
  });
});
