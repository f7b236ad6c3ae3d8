import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { buildCatalog } from '../../../src/db/catalog/buildCatalog.js';
import { readSchema } from '../../../src/db/catalog/introspect.js';
import { setCapture } from '../../../src/db/capture/capture.js';
import { applicationName } from '../../../src/db/cells/moving/clientProgram.js';
import { UsageError } from '../../../src/foundation/errors.js';
import { restoreDump } from '../../../src/control/tenants/restoreDump.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';
import type { Database } from '../../../src/db/pool/database.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { openTestDatabase } from '../../support/templateDatabase.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

/** Debian's package `postgresql-client` has it; that of version 15 can't dump a newer server. */
const HAS_PG_DUMP = spawnSync('pg_dump', ['--version']).status === 0;

const ROOT = { rootLogin: 'root', rootPassword: 'correct horse battery' };

/** Whoever runs it, as owner of the service's schema, gives everything away. */
const TRAPS = `
  create table ran ("by" text);
  create function spring(n int) returns int language plpgsql set search_path from current as $$
  begin
    insert into ran values (session_user || ' as ' || current_user);
    begin
      grant usage on schema rowpost to public;
      grant select on all tables in schema rowpost to public;
    exception when insufficient_privilege then null;
    end;
    return n;
  end $$;
  create function pure(n int) returns int language sql immutable set search_path from current as 'select spring(n)';
  create domain careful as int check (spring(value) > 0);
  create table note (
    id int primary key, n careful check (spring(n) > 0), twice int generated always as (pure(n)) stored
  );
  insert into note (id, n) values (1, 1), (2, 2);
  create index on note (pure(n));
  create materialized view notes as select pure(n) as n from note;
  create function own() returns trigger language plpgsql as 'begin return new; end';
  create trigger "x EXECUTE FUNCTION rowpost.y(" before insert on note for each row execute function own();
  delete from ran;`;

if (HAS_PG_DUMP) {
  describe('attack: code of a tenant in a dump, which whoever restores it would run', () => {
    let original: TestDatabase;
    let restored: Database;
    let folder: string;
    let file: string;
    let schema: string;
    let tenants: { readonly evil: number; readonly shop: number };
    before(async () => {
      original = await createTestDatabase({ postgres: 15 });
      const { pool } = original.database;
      const evil = await createTestTenant(pool, { ...ROOT, name: 'evil' });
      await runTenantSql(original.database, { tenantid: evil.tenantid, sql: TRAPS });
      const shop = await createTestTenant(pool, { ...ROOT, name: 'shop' });
      const sql = 'create table orders (id int primary key); insert into orders values (7)';
      await runTenantSql(original.database, { tenantid: shop.tenantid, sql });
      const catalog = buildCatalog(shop.schema, await readSchema(pool, shop.schema));
      const names = await original.database.tenants.names();
      await inTransaction(pool, (tx) =>
        setCapture(tx, names, shop.tenantid, catalog.tables.get('orders')!, 'all'),
      );
      schema = evil.schema;
      tenants = { evil: evil.tenantid, shop: shop.tenantid };

      folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-dump-'));
      file = path.join(folder, 'rowpost.dump');
      run('pg_dump', '--format=custom', `--file=${file}`, original.url);
      restored = await emptyDatabase('restored');
      const end = { database: restored, url: urlOf('restored') };
      const all = { tenants: [tenants.evil, tenants.shop], problems: [] };
      expect(await restoreDump(end, file)).to.deep.equal(all);
      // Nothing is missing.
      expect(await restoreDump(end, file)).to.deep.equal({ tenants: [], problems: [] });
    });
    after(async () => {
      await Promise.all(opened.map((database) => database.close()));
      for (const name of ['restored', 'at_once', 'killed'])
        await original.database.pool.query(`drop database if exists ${nameOf(name)}`);
      await original.drop();
      await rm(folder, { recursive: true });
    });

    const opened: Database[] = [];
    const nameOf = (name: string): string => `${new URL(original.url).pathname.slice(1)}_${name}`;
    const urlOf = (name: string): string => new URL(`/${nameOf(name)}`, original.url).href;
    const emptyDatabase = async (name: string): Promise<Database> => {
      await original.database.pool.query(`create database ${nameOf(name)}`);
      const database = openTestDatabase(urlOf(name));
      opened.push(database);
      return database;
    };
    const run = (program: string, ...args: readonly string[]): void => {
      const { status, stderr } = spawnSync(program, args);
      expect(status, stderr.toString()).to.equal(0);
    };
    const isOpen = async ({ pool }: Database): Promise<boolean | undefined> => {
      const { rows } = await pool.query<{ is_open: boolean }>(
        `select has_schema_privilege('public', 'rowpost', 'usage')
           and has_table_privilege('public', 'rowpost.role', 'select') as is_open`,
      );
      return rows[0]?.is_open;
    };

    it('runs as the service with pg_restore alone, and opens the tables of the service to everybody', async () => {
      const database = await emptyDatabase('at_once');
      const options = ['--no-owner', '--no-acl', '--single-transaction'];
      run('pg_restore', ...options, `--dbname=${urlOf('at_once')}`, file);
      expect(await isOpen(database)).to.equal(true);
    });

    it('runs as the tenant', async () => {
      const names = await restored.tenants.names();
      const role = names.tenant(tenants.evil);
      const { rows } = await restored.pool.query<{ by: string }>(`select distinct "by" from ${schema}.ran`);
      expect(rows).to.deep.equal([{ by: `${role} as ${role}` }]);
    });

    it('is restored by the next command if the first one was killed', async () => {
      const database = await emptyDatabase('killed');
      const end = { database, url: urlOf('killed') };
      await database.pool.query('create schema rowpost');
      expect(await restoreDump(end, file)).to.deep.equal({
        tenants: [tenants.evil, tenants.shop],
        problems: [],
      });
      const role = (await database.tenants.names()).tenant(tenants.evil);
      await database.pool.query(`drop schema ${schema} cascade`);
      await database.pool.query(`create schema ${schema} authorization ${role}`);
      expect(await restoreDump(end, file)).to.deep.equal({ tenants: [tenants.evil], problems: [] });
      const { rows } = await database.pool.query(`select id from ${schema}.note order by id`);
      expect(rows).to.deep.equal([{ id: 1 }, { id: 2 }]);
    });

    it('is not restored beside the pg_restore that a killed command has left, nor without a file or space for a list', async () => {
      const end = { database: restored, url: urlOf('restored') };
      const failureOf = async (name: string): Promise<string> => {
        const failure: unknown = await restoreDump(end, name).catch((error: unknown) => error);
        expect(failure).to.be.instanceOf(UsageError);
        return (failure as Error).message;
      };
      expect(await failureOf('/nowhere.dump')).to.include('/nowhere.dump');
      const left = new pg.Client({
        connectionString: urlOf('restored'),
        application_name: applicationName('pg_restore'),
      });
      await left.connect();
      try {
        expect(await failureOf(file)).to.include('repeat the command when it has ended');
      } finally {
        await left.end();
      }
      const role = (await restored.tenants.names()).tenant(tenants.shop);
      const { schema: lost } = (
        await restored.pool.query<{ schema: string }>(
          'select schema from rowpost.tenant where tenantid = $1',
          [tenants.shop],
        )
      ).rows[0]!;
      await restored.pool.query(`drop schema ${lost} cascade`);
      await restored.pool.query(`create schema ${lost} authorization ${role}`);
      const { TMPDIR: usual } = process.env;
      process.env['TMPDIR'] = path.join(folder, 'missing');
      try {
        const { problems } = await restoreDump(end, file);
        expect(problems).to.have.length(1);
        expect(problems[0]).to.include('set TMPDIR');
      } finally {
        if (usual === undefined) delete process.env['TMPDIR'];
        else process.env['TMPDIR'] = usual;
      }
      expect(await restoreDump(end, file)).to.deep.equal({ tenants: [tenants.shop], problems: [] });
    });

    it('gives nothing of the service away', async () => {
      expect(await isOpen(restored)).to.equal(false);
    });

    it('is restored itself, and so are the rows and captured tables of others', async () => {
      const { rows } = await restored.pool.query(`select id, n, twice from ${schema}.note order by id`);
      expect(rows).to.deep.equal([
        { id: 1, n: 1, twice: 1 },
        { id: 2, n: 2, twice: 2 },
      ]);
      const sql = 'insert into orders values (8)';
      await runTenantSql(restored, { tenantid: tenants.shop, sql });
      const events = await restored.pool.query('select tenantid, key from rowpost.outbox');
      expect(events.rows).to.deep.equal([{ tenantid: tenants.shop, key: { id: 8 } }]);
    });
  });
}
