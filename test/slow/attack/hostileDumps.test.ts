import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { setCapture } from '../../../src/db/capture/capture.js';
import { buildCatalog } from '../../../src/db/catalog/buildCatalog.js';
import { readSchema } from '../../../src/db/catalog/introspect.js';
import { restoreDump, type RestoredDump } from '../../../src/control/tenants/restoreDump.js';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import type { Database } from '../../../src/db/pool/database.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { openTestDatabase } from '../../support/templateDatabase.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

/** Debian's package `postgresql-client` has it; that of version 15 can't dump a newer server. */
const HAS_PG_DUMP = spawnSync('pg_dump', ['--version']).status === 0;

const ROOT = { rootLogin: 'root', rootPassword: 'correct horse battery' };

/** Does it while a dump is restored only. */
const whileRestored = (statement: string): string => `
  create function f(n int) returns int language plpgsql as $$ begin
    if current_setting('application_name') = 'rowpost pg_restore' then ${statement}; end if;
    return n;
  end $$;
  create table note (id int primary key check (f(id) = id));
  insert into note values (1)`;

/** In this order, before the tenant `shop`. */
const HOSTILE = {
  // Holds a catalog, which the next one waits for.
  endless: whileRestored('perform from pg_catalog.pg_class; perform pg_sleep(1e6)'),
  // All statements of others would wait behind it.
  queued: whileRestored(
    `begin execute 'create rule r as on insert to pg_catalog.pg_class do nothing'; exception when others then null; end`,
  ),
  // The service can't take rights of other roles meanwhile.
  holding: whileRestored(
    `execute 'revoke usage on schema rowpost_tenant from public'; perform pg_sleep(1e6)`,
  ),
  verbose: whileRestored(`raise exception '%', repeat('x', 1000000)`),
  large: `do $$ begin
    execute 'create type t as enum (' || (select string_agg(format('''v%s''', i), ',') from generate_series(1, 1000) i) || ')';
    execute 'create table note (' || (select string_agg(format('c%s t', i), ',') from generate_series(1, 110) i) || ')';
  end $$`,
  lines: `create table "two\nlines" (id int primary key)`,
};

if (HAS_PG_DUMP) {
  describe('attack: a tenant in a dump that keeps others from being restored', () => {
    let original: TestDatabase;
    let restored: Database;
    let folder: string;
    let outcome: RestoredDump;
    const said: string[] = [];
    const tenants = new Map<string, CreatedTenant>();
    const idOf = (name: string): number => tenants.get(name)!.tenantid;
    before(async () => {
      original = await createTestDatabase({ postgres: 15 });
      const { pool } = original.database;
      for (const [name, sql] of Object.entries({
        ...HOSTILE,
        shop: 'create table orders (id int primary key)',
      })) {
        const tenant = await createTestTenant(pool, { ...ROOT, name });
        tenants.set(name, tenant);
        await runTenantSql(original.database, { tenantid: tenant.tenantid, sql });
      }
      await capture(original.database, 'lines');
      folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-dump-'));
      const file = path.join(folder, 'rowpost.dump');
      const { status, stderr } = spawnSync('pg_dump', ['--format=custom', `--file=${file}`, original.url]);
      expect(status, stderr.toString()).to.equal(0);
      const name = `${new URL(original.url).pathname.slice(1)}_restored`;
      await pool.query(`create database ${name}`);
      const url = new URL(`/${name}`, original.url).href;
      restored = openTestDatabase(url);
      const options = { say: (sentence: string) => void said.push(sentence), patienceMs: 500 };
      const restoring = restoreDump({ database: restored, url }, file, options);
      const { schema } = tenants.get('shop')!;
      await waitFor('the last tenant', async () => {
        const { rows } = await restored.pool.query<{ found: boolean }>(
          `select to_regclass('${schema}.orders') is not null as found`,
        );
        return rows[0]?.found === true;
      });
      const role = (await restored.tenants.names()).tenant(idOf('endless'));
      await restored.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and application_name = 'rowpost pg_restore'`,
        [role],
      );
      outcome = await restoring;
    });
    after(async () => {
      await restored.close();
      await original.database.pool.query(
        `drop database ${new URL(original.url).pathname.slice(1)}_restored with (force)`,
      );
      await original.drop();
      await rm(folder, { recursive: true });
    });

    const capture = async ({ pool, tenants: connections }: Database, name: string): Promise<void> => {
      const { tenantid, schema } = tenants.get(name)!;
      const [table] = buildCatalog(schema, await readSchema(pool, schema)).tables.values();
      const names = await connections.names();
      await inTransaction(pool, (tx) => setCapture(tx, names, tenantid, table!, 'all'));
    };
    const problemOf = (name: string): string =>
      outcome.problems.find((problem) => problem.startsWith(`tenant ${idOf(name)}: `)) ?? '';

    it('whose code never ends: they are restored beside it, and the operator is told', () => {
      expect(
        said.filter((sentence) => sentence.includes(`tenant ${idOf('endless')} takes long`)),
      ).to.have.length(1);
      expect(problemOf('endless')).to.include('pg_restore failed');
      expect(outcome.tenants).to.deep.equal(['large', 'lines', 'shop'].map(idOf));
    });

    for (const name of ['queued', 'holding']) {
      it(`whose lock all others wait for, as ${name}: it is ended`, () => {
        expect(problemOf(name)).to.include('terminating connection due to administrator command');
      });
    }

    it('whose error is long: it is cut', () => {
      expect(problemOf('verbose')).to.include('xxx').and.to.have.length.below(20_000);
    });

    it('whose schema is too large to be read: it is not', () => {
      expect(problemOf('large')).to.include('is too large to be served');
      expect(outcome.problems).to.have.length(5);
    });

    it('whose captured table has a name of two lines: it is restored as well', async () => {
      await runTenantSql(restored, { tenantid: idOf('lines'), sql: 'insert into "two\nlines" values (8)' });
      const { rows } = await restored.pool.query('select tenantid, key from rowpost.outbox');
      expect(rows).to.deep.equal([{ tenantid: idOf('lines'), key: { id: 8 } }]);
    });
  });
}
