import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { openCaptureFixture, type CaptureFixture } from '../db/capture/captureFixture.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** The triggers that capture a table run as the service, in sessions of whoever writes. */
describe('captured tables', () => {
  let fixture: CaptureFixture;
  let other: CreatedTenant;

  before(async () => {
    fixture = await openCaptureFixture(
      `create table item (id int primary key, name text);
       create table shadows (id int primary key, event_tenant int, new_rows text, old_rows text, before text, after text, n int, key text, old text, new text, e text)`,
      ['item', 'shadows'],
    );
    const { database } = fixture.shop.test;
    other = await createTestTenant(database.pool, {
      name: 'other',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await runTenantSql(database, {
      tenantid: other.tenantid,
      sql: 'create table item (id int primary key, name text)',
    });
  });
  after(() => fixture.close());
  beforeEach(() => fixture.events());

  const asTenant = async (
    sql: string,
    tenantid = fixture.shop.tenant.tenantid,
  ): Promise<string | undefined> => {
    try {
      await runTenantSql(fixture.shop.test.database, { tenantid, sql });
      return undefined;
    } catch (error) {
      return (error as { details: { sqlstate: string } }).details.sqlstate;
    }
  };

  for (const [what, sql] of [
    [
      'attach the trigger function',
      `create trigger t after insert on item execute function rowpost.capture_rows('1', 'item', 'item', 'id')`,
    ],
    ['call the function that writes', 'select rowpost.capture_rows()'],
    ['call the function that shows values', 'select rowpost.value_json(row(1), false)'],
    ['call the function that builds expressions', `select rowpost.column_sql('a', 23)`],
    [
      'replace it',
      `create or replace function rowpost.value_json(value anyelement, as_texts boolean) returns json language sql as 'select null::json'`,
    ],
    ['say what is captured', `insert into rowpost.captured_table values (1, 'item')`],
    ['read what is captured', 'select * from rowpost.captured_table'],
    ['read events', 'select * from rowpost.outbox'],
    [
      'enter the role that shows values',
      `do $$ begin execute 'set role ' || (select rolname from pg_roles where rolname = (select 'rowpost_' || oid || '_capture' from pg_database where datname = current_database())); end $$`,
    ],
  ] as const) {
    it(`no tenant can ${what}`, async () => {
      expect(await asTenant(sql, other.tenantid)).to.equal('42501');
    });
  }

  it("a tenant can't write events of another, whatever its session settings", async () => {
    expect(
      await asTenant(
        `set rowpost.roleid = '1'; insert into ${fixture.shop.tenant.schema}.item values (1)`,
        other.tenantid,
      ),
    ).to.equal('42501');
    expect(await fixture.changes()).to.deep.equal([]);
  });

  it('an application can neither suppress an event nor name a role of the API', async () => {
    await fixture.writer.query(
      `set rowpost.uploading = 'on'; set rowpost.roleid = '1'; insert into item values (1)`,
    );
    const [event] = await fixture.events();
    expect(event).to.include({ operation: 'insert', roleid: null, application: 'crm' });
  });

  it('temporary relations named like the transition tables are not read', async () => {
    await fixture.writer.query(`
      create function pg_temp.steal() returns int language plpgsql as 'begin raise exception ''ran as %'', current_user; end';
      create temp view new_rows as select pg_temp.steal() as id; create temp view old_rows as select pg_temp.steal() as id;
      insert into item values (2); update item set id = 3 where id = 2; delete from item where id = 3;
      drop view new_rows, old_rows`);
    expect(await fixture.changes()).to.deep.equal([
      'delete item {"id" : 3}',
      'insert item {"id" : 2}',
      'update item {"id" : 3}',
    ]);
  });

  it('columns with the names of variables are columns', async () => {
    await fixture.writer.query(
      `insert into shadows values (1, 99, 'a', 'b', 'c', 'd', 5, 'e', 'f', 'g', 'h'); update shadows set n = 6`,
    );
    const [inserted, updated] = await fixture.events();
    const row =
      '{"id":1,"event_tenant":99,"new_rows":"a","old_rows":"b","before":"c","after":"d","n":5,"key":"e","old":"f","new":"g","e":"h"}';
    expect([inserted?.tenantid, inserted?.key, inserted?.new]).to.deep.equal([
      fixture.shop.tenant.tenantid,
      '{"id" : 1}',
      row,
    ]);
    expect([updated?.old, updated?.new]).to.deep.equal([row, row.replace('"n":5', '"n":6')]);
  });

  it("casts of a tenant's types run without privileges, and their errors block no write", async () => {
    expect(
      await asTenant(`
        create type spy as enum ('a'); create type broken as enum ('a');
        create function show(spy) returns json language plpgsql as $$ begin return to_json(current_user); end $$;
        create function fail(broken) returns json language plpgsql as $$ begin return (select json_agg(password_hash) from rowpost.role); end $$;
        create cast (spy as json) with function show(spy); create cast (broken as json) with function fail(broken);
        create type spies as (spy spy); create type ruins as (broken broken);
        create table spied (id int primary key, spy spy, spies spies); create table failing (id int primary key, ruins ruins, list broken[])`),
    ).to.equal(undefined);
    for (const table of ['spied', 'failing']) await fixture.capture(table, 'all');
    await fixture.writer.query(
      `insert into spied values (1, 'a', '(a)'); insert into failing values (1, '(a)', '{a}')`,
    );
    const [spied, failing] = await fixture.events();
    const { capture } = await fixture.shop.test.database.tenants.names();
    expect(spied?.new).to.equal(`{"id":1,"spy":"a","spies":{"spy":"${capture}"}}`);
    expect(failing?.new).to.equal('{"id":1,"ruins":"(a)","list":["a"]}');
  });

  it('after a dump was restored, no cast runs as the service', async () => {
    const { pool } = fixture.shop.test.database;
    await pool.query('alter function rowpost.value_json owner to current_user');
    await fixture.writer.query(`insert into spied values (2, 'a', '(a)')`);
    const [event] = await fixture.events();
    expect(event?.new).to.equal('{"id":2,"spy":"a","spies":"(a)"}');
    const { tenantid, schema } = fixture.shop.tenant;
    await fixture.shop.engine.introspect(tenantid, schema);
    await fixture.writer.query(`insert into spied values (3, 'a', '(a)')`);
    expect((await fixture.events())[0]?.new).to.contain('_capture"');
  });

  it('capture triggers do not count as tenant code', async () => {
    const { tenants } = fixture.shop.test.database;
    await runTenantSql(fixture.shop.test.database, { tenantid: other.tenantid, sql: '' });
    const { captureTable } = await import('../../src/control/utility/capture.js');
    const catalog = await fixture.shop.engine.introspect(other.tenantid, other.schema);
    await inTransaction(fixture.shop.test.database.pool, (trx) =>
      captureTable(
        trx,
        fixture.shop.test.database,
        { tenantid: other.tenantid, catalog, table: 'item' },
        'all',
      ),
    );
    await fixture.shop.engine.introspect(other.tenantid, other.schema);
    expect(tenants.loginOf(other.tenantid)).to.equal('shared');
  });
});
