import { expect } from 'chai';
import pg from 'pg';
import { adoptTenant, deleteTenant, type AdoptedTenant } from '../../src/control/tenants/tenants.js';
import { captureTable } from '../../src/control/utility/capture.js';
import { statementsToRelease } from '../../src/db/tenants/adoption.js';
import { createDataEngine } from '../../src/graphql/dataEngine.js';
import { openCaptureFixture, type CaptureFixture } from '../db/capture/captureFixture.js';
import { testConfig, testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** Notes who ran it, in a table to which everybody may write. */
const TRAP = `
  create table ran (by_role text); grant insert on ran to public;
  create function f() returns text language plpgsql as $$ begin
    execute format('insert into %I.ran values (current_user)', tg_schema()); return ''; end $$;`;

/** Ends the statement that would drop the trigger under its name, and begins another. */
const nameThatRuns = (schema: string): string => `x on d;select ${schema}.f();--`;

describe('attack: running SQL as the service by the name of a capture trigger', () => {
  describe("in a tenant's own schema", () => {
    let fixture: CaptureFixture;
    let schema: string;
    const sql = (text: string): Promise<void> => fixture.shop.sql(text);
    const ran = async (): Promise<unknown[]> =>
      (await fixture.writer.query<{ by_role: string }>('select * from ran')).rows;
    const triggers = async (): Promise<string[]> => {
      const { rows } = await fixture.writer.query<{ name: string }>(
        `select tgname::text as name from pg_trigger where tgrelid = 'document'::regclass and not tgisinternal order by 1`,
      );
      return rows.map(({ name }) => name);
    };
    const read = async (): Promise<readonly string[]> =>
      (await fixture.shop.engine.introspect(fixture.shop.tenant.tenantid, schema)).problems;
    const rename = (operation: string, name: string): Promise<void> =>
      sql(`alter trigger rowpost_capture_${operation} on document rename to ${pg.escapeIdentifier(name)}`);

    before(async () => {
      fixture = await openCaptureFixture('create table document (id serial primary key, word text)', []);
      schema = fixture.shop.tenant.schema;
      await sql(`${TRAP.replace('tg_schema()', `'${schema}'`)} grant usage on schema ${schema} to public`);
    });
    after(() => fixture.close());
    beforeEach(async () => {
      await fixture.capture('document', 'all');
      await fixture.events();
    });
    afterEach(async () => {
      await fixture.capture('document', 'api');
      expect(await ran()).to.deep.equal([]);
      expect(await triggers()).to.deep.equal([]);
    });

    for (const operation of ['insert', 'update', 'delete', 'truncate']) {
      it(`set_capture drops the renamed ${operation} trigger, and nothing runs`, () =>
        rename(operation, nameThatRuns(schema)));
    }

    it('a name of 63 bytes, with quotes and line breaks, is dropped too', () =>
      rename('insert', `"\n';--/*$$?\${x}%I\\${'ü'.repeat(24)}`));

    it('a renamed trigger records once: changes by SQL, and those of the API', async () => {
      await rename('insert', nameThatRuns(schema));
      await fixture.writer.query(`insert into document values (101, 'by SQL')`);
      await fixture.shop.data('mutation { create_document(input: {word: "by the API"}) { id } }');
      expect(await read()).to.deep.equal([]);
      await fixture.writer.query(`insert into document values (102, 'by SQL')`);
      await fixture.shop.data('mutation { create_document(input: {word: "by the API"}) { id } }');
      expect((await fixture.changes()).length).to.equal(4);
    });

    it('a renamed trigger whose table is renamed too is replaced', async () => {
      await rename('insert', nameThatRuns(schema));
      await sql('alter table document rename to paper');
      expect(await read()).to.deep.equal([]);
      await fixture.writer.query(`insert into paper values (103, 'by SQL')`);
      expect(await fixture.changes()).to.deep.equal(['insert paper {"id" : 103}']);
      await sql('alter table paper rename to document');
      expect(await read()).to.deep.equal([]);
    });

    it('of two triggers for one operation, one is left', async () => {
      await fixture.writer.query(
        `create trigger again after insert on document referencing new table as new_rows for each statement
           execute function rowpost.capture_rows('1', 'document', 'document', 'id')`,
      );
      await read();
      await fixture.writer.query(`insert into document values (104, 'by SQL')`);
      expect(await fixture.changes()).to.deep.equal(['insert document {"id" : 104}']);
    });

    it('one with arguments of its own is replaced', async () => {
      await sql('drop trigger rowpost_capture_insert on document');
      await fixture.writer.query(
        `create trigger forged after insert on document referencing new table as new_rows for each statement
           execute function rowpost.capture_rows('1', 'document', 'other', 'word')`,
      );
      await read();
      await fixture.writer.query(`insert into document values (105, 'by SQL')`);
      expect(await fixture.changes()).to.deep.equal(['insert document {"id" : 105}']);
    });

    it("a trigger of the tenant's own with that name is none of ours, and stays", async () => {
      await sql(`drop trigger rowpost_capture_insert on document;
        create function own() returns trigger language plpgsql as 'begin return null; end';
        create trigger rowpost_capture_insert after insert on document execute function own()`);
      await fixture.shop.data('mutation { create_document(input: {word: "by the API"}) { id } }');
      expect((await fixture.changes()).length).to.equal(1);
      expect((await read()).join()).to.contain('"rowpost_capture_insert"');
      await fixture.capture('document', 'api');
      expect(await triggers()).to.deep.equal(['rowpost_capture_insert']);
      await sql('drop trigger rowpost_capture_insert on document');
    });

    it('a disabled trigger is no missing one', async () => {
      await rename('insert', 'sleeping');
      await sql('alter table document disable trigger sleeping');
      expect(await read()).to.deep.equal([]);
      await fixture.writer.query(`insert into document values (106, 'by SQL')`);
      await fixture.shop.data('mutation { create_document(input: {word: "by the API"}) { id } }');
      expect((await fixture.changes()).length).to.equal(1);
    });
  });

  describe('in an adopted schema', () => {
    let test: TestDatabase;
    let owner: pg.Client;
    let tenant: AdoptedTenant;
    let role: string;
    const ran = async (): Promise<unknown[]> =>
      (await owner.query<{ by_role: string }>('select * from crm.ran')).rows;

    before(async () => {
      test = await createTestDatabase();
      const { pool } = test.database;
      const { rows } = await pool.query<{ oid: number; name: string }>(
        'select oid, datname as name from pg_database where datname = current_database()',
      );
      role = `crm_${rows[0]!.oid}`;
      await pool.query(`create role ${role} login password 'crm'`);
      await pool.query(`grant connect, create on database ${rows[0]!.name} to ${role}`);
      await pool.query(`grant ${role} to current_user`);
      const url = new URL(test.url);
      url.username = role;
      url.password = 'crm';
      owner = new pg.Client({ connectionString: url.href });
      await owner.connect();
      await owner.query(
        `create schema crm; set search_path = crm; ${TRAP.replace('tg_schema()', `'crm'`)}
         create table visit (id int, at int, primary key (id, at)) partition by range (at);
         create table "visit ""a""" partition of visit for values from (0) to (10);
         create table document (id int primary key); grant usage on schema crm to public`,
      );
      tenant = await adoptTenant(pool, {
        name: 'crm',
        schema: 'crm',
        rootLogin: 'root',
        rootPassword: 'correct horse',
      });
      const { tenantid } = tenant;
      const engine = createDataEngine({
        database: test.database,
        config: testConfig(),
        log: testLog,
        onCommitted: () => undefined,
      });
      for (const table of ['document', 'visit']) {
        const catalog = await engine.introspect(tenantid, 'crm');
        await inTransaction(pool, (trx) =>
          captureTable(trx, test.database, { tenantid, catalog, table }, 'all'),
        );
      }
      for (const table of ['document', 'visit', '"visit ""a"""']) {
        await owner.query(
          `alter trigger rowpost_capture_insert on ${table} rename to "${nameThatRuns('crm')}"`,
        );
      }
    });
    after(async () => {
      await owner.end();
      await test.database.pool.query(`drop owned by ${role} cascade`).catch(() => undefined);
      await test.drop();
    });

    it('what --print-sql hands to a superuser runs nothing of the tenant', async () => {
      const statements = await statementsToRelease(test.database.pool, tenant);
      expect(statements.filter((text) => text.startsWith('drop trigger')).length).to.equal(12);
      const superuser = new pg.Client({ connectionString: test.url });
      await superuser.connect();
      await superuser.query(`begin; ${statements.join(';\n')}`);
      const { rows } = await superuser.query(
        `select from pg_trigger where tgfoid = 'rowpost.capture_rows'::regproc`,
      );
      const { rows: noted } = await superuser.query('select by_role from crm.ran');
      await superuser.query('rollback');
      await superuser.end();
      expect(noted).to.deep.equal([]);
      expect(rows).to.deep.equal([]);
    });

    it('release drops the triggers, and runs nothing of the tenant', async () => {
      await inTransaction(test.database.pool, (tx) => deleteTenant(tx, tenant.tenantid));
      const { rows } = await owner.query(
        `select from pg_trigger where tgfoid in (select oid from pg_proc where proname = 'capture_rows')`,
      );
      expect(rows).to.deep.equal([]);
      expect(await ran()).to.deep.equal([]);
    });
  });
});
