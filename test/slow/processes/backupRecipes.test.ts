import { spawnSync } from 'node:child_process';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { runRowpost } from '../../support/rowpostProcess.js';
import { runSql } from '../../support/runSql.js';
import { startSeparateCluster, type SeparateCluster } from '../../support/separateCluster.js';
import { createTemplateSql, databaseUrl, openTestDatabase } from '../../support/templateDatabase.js';
import type { TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';
import { createFleet, emailsPerOrder, setUpConfirmations, type Fleet } from '../../processes/fleet.js';
import { openRecipes, type Recipes } from '../../processes/recipes.js';

/** Debian's package `postgresql-client` has them; those of version 15 can't dump a newer server. */
const HAS_CLIENT_PROGRAMS = ['pg_dump', 'pg_basebackup'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
);

/** The service's role reads what no tenant hides from it. */
const backupOf = ({ testDatabase }: Fleet): { readonly BACKUP_URL: string } => ({
  BACKUP_URL: testDatabase.url,
});

/** The provider of the tests does not respond to the doctor; and order 2 waits, as it is to. */
const FOR_DOCTOR = { MAIL_TRANSPORT: 'mailbox', BACKLOG_ALARM_SECONDS: '0' };

/** What a tenant's schema may hold, each with an owner. */
const MORE_TABLES = `
  create type mood as enum ('glad', 'sad');
  create domain positive as int check (value > 0);
  create type pair as (a int, b mood);
  create table note (note_id bigserial primary key, mood mood, amount positive, other int generated always as identity);
  create view glad as select * from note where mood = 'glad';
  create materialized view moods as select mood, count(*) as n from note group by mood;
  create sequence loose;
  create function twice(n int) returns int language sql immutable as 'select 2 * n';
  create aggregate total(int) (sfunc = int4pl, stype = int);
  create procedure nothing() language sql as 'select 1';
  create function note_changed() returns trigger language plpgsql as
    'begin new.amount := coalesce(new.amount, 1); return new; end';
  create trigger changed before insert on note for each row execute function note_changed();
  create statistics both_ on mood, amount from note;
  create index on note (twice(other));
  create operator === (leftarg = int, rightarg = int, function = int4eq);`;

if (HAS_CLIENT_PROGRAMS) {
  describe('docs/how-to/backup.md', () => {
    let recipes: Recipes;
    before(async () => {
      recipes = await openRecipes('docs/how-to/backup.md');
    });
    after(() => rm(recipes.folder, { recursive: true }));

    describe('a dump', () => {
      let fleet: Fleet;
      let original: readonly string[];
      let newUrl: string;

      before(async () => {
        fleet = await createFleet({ postgres: 15, redisUrl: undefined });
        const file = path.join(recipes.folder, 'more.sql');
        await writeFile(file, MORE_TABLES);
        await rowpost(fleet, 'tenant', 'sql', '--tenant', '1', '-f', file);
        await rowpost(fleet, 'tenant', 'capture', '--tenant', '1', '--table', 'note', '--writers', 'all');
        await fleet.start('web');
        await setUpConfirmations(fleet);
        await order(fleet, 1);
        await startSenders(fleet);
        await sent(fleet, [1]);
        await fleet.moveTo(fleet.testDatabase.url);
        await fleet.start('web');
        await order(fleet, 2); // no worker runs
        original = await readRights(fleet.testDatabase);
      });
      after(() => fleet.stop());

      const expectRights = async (url: string): Promise<void> => {
        const database = openTestDatabase(url);
        const rights = await readRights({ database });
        await database.close();
        expect(rights.filter((line) => !original.includes(line))).to.deep.equal([]);
        expect(original.filter((line) => !rights.includes(line))).to.deep.equal([]);
      };

      it('is restored into another cluster, each tenant as itself, with the rights of the original', async () => {
        const url = await emptyDatabase(await startSeparateCluster());
        const env = { ...fleet.env, ...FOR_DOCTOR, ...backupOf(fleet), NEW_DATABASE_URL: url };
        const { code, output } = await recipes.run(['dump', 'restore', 'release'], env);
        expect(code, output).to.equal(0);
        await expectRights(url);
      });

      it('is restored at once, where processes refuse to start and the doctor says why', async () => {
        newUrl = await emptyDatabase(await startSeparateCluster());
        const env = { ...fleet.env, ...backupOf(fleet), NEW_DATABASE_URL: newUrl };
        expect(await recipes.run(['dump', 'restore at once'], env)).to.include({ code: 0, output: '' });
        await fleet.moveTo(newUrl);

        const doctor = await runRowpost(['doctor'], { ...fleet.env, ...FOR_DOCTOR });
        expect(doctor.code).to.equal(1);
        expect(doctor.stdout).to.match(/^✗ roles +.*tenant 1 has no database role, as after a dump/m);
        const web = await runRowpost(['web'], fleet.env);
        expect(web.code).to.equal(1);
        expect(web.stderr).to.contain('the database lacks its roles').and.to.contain('rowpost release');
      });

      it('has the rights of the original after a release, however often', async () => {
        for (let times = 0; times < 2; times++) {
          const { code, output } = await recipes.run(['release'], {
            ...fleet.env,
            ...FOR_DOCTOR,
            NEW_DATABASE_URL: newUrl,
          });
          expect(code, output).to.equal(0);
        }
        await expectRights(newUrl);
      });

      it('is served: sent emails are not resent, unsent ones are sent once', async () => {
        await startSenders(fleet);
        await fleet.start('web');
        await sent(fleet, [1, 2]);
        const { create_note: note } = await fleet.request<{ create_note: unknown }>(
          '/query',
          'mutation { create_note(input: {mood: "glad"}) { note_id amount } }',
        );
        expect(note).to.deep.equal({ note_id: '1', amount: 1 });
        await order(fleet, 3);
        await sent(fleet, [1, 2, 3]);
      });

      it('keys are rotated: the stored secrets decrypt after each step, by all processes', async () => {
        for (const names of [['keys'], ['keys', 'keys first']]) {
          const { output } = await recipes.run(names, { ...fleet.env, ...FOR_DOCTOR });
          expect(output.match(/^. secrets .*/gm)).to.deep.equal(
            names.map(() => '✓ secrets    2 stored, all can be decrypted'),
          );
        }
      });

      it("pxadmin's password is set", async () => {
        const signIn = async (password: string): Promise<number> => {
          const body = JSON.stringify({ login: 'pxadmin', password, tenantid: 0 });
          const headers = { 'content-type': 'application/json' };
          return (await fetch(`${fleet.web().baseUrl}/auth`, { method: 'POST', headers, body })).status;
        };
        expect(await signIn('pxadmin-password')).to.equal(200);
        const env = { ...fleet.env, NEW_PASSWORD: 'quite-another-one-7' };
        const { code, output } = await recipes.run(['password'], env);
        expect(code, output).to.equal(0);
        expect(await signIn('pxadmin-password')).to.equal(401);
        expect(await signIn('quite-another-one-7')).to.equal(200);
      });

      it('a node is drained: it ends in order', async () => {
        const { child } = await fleet.start('worker');
        const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
        await recipes.run(['drain'], { PID: String(child.pid) });
        expect(await exited).to.equal(0);
      });

      it('the version before starts on a newer schema, and its release changes nothing', async () => {
        await runSql(
          newUrl,
          `insert into rowpost.migration (name, batch, migration_time) values ('9999_of_a_newer_release.js', 99, now())`,
        );
        await rowpost(fleet, 'release');
        await fleet.start('web');
        await order(fleet, 4);
        await sent(fleet, [1, 2, 3, 4]);
      });
    });

    it('a dump with roles of others is restored as a superuser, and captures again after a release', async () => {
      const [origin, target] = [await startSeparateCluster(), await startSeparateCluster()];
      // Another oid than that of the original.
      await runSql(target.superuserUrl, 'create database other');
      for (const { superuserUrl } of [origin, target]) {
        await runSql(superuserUrl, 'create role crm_app; grant crm_app to rowpost');
        await runSql(superuserUrl, 'create database crm owner crm_app');
        await runSql(superuserUrl, 'grant create on database crm to rowpost');
      }
      const admin = databaseUrl(origin.superuserUrl, 'crm');
      await runSql(
        admin,
        'set role crm_app; create schema app; create table app.orders (id int primary key)',
      );
      const env = { DATABASE_URL: databaseUrl(origin.url, 'crm'), PXADMIN_PASSWORD: 'installation root' };
      const fleet = { env } as unknown as Fleet;
      await rowpost(fleet, 'release');
      const adopt = ['tenant', 'adopt', '--name', 'crm', '--schema', 'app', '--root-login', 'root'];
      await rowpost(fleet, ...adopt, '--root-password', 'the password of crm');
      await rowpost(fleet, 'tenant', 'capture', '--tenant', '1', '--table', 'orders', '--writers', 'all');

      const newAdmin = databaseUrl(target.superuserUrl, 'crm');
      const backup = Object.assign(new URL(admin), { username: 'rowpost_backup', password: 'of backups' });
      const names = ['backup role', 'dump', 'restore as a superuser', 'release'];
      const { code, output } = await recipes.run(names, {
        ...env,
        ...FOR_DOCTOR,
        ADMIN_URL: admin,
        BACKUP_PASSWORD: 'of backups',
        BACKUP_URL: backup.href,
        NEW_ADMIN_URL: newAdmin,
        NEW_DATABASE_URL: databaseUrl(target.url, 'crm'),
      });
      expect(code, output).to.equal(0);
      await runSql(newAdmin, 'set role crm_app; insert into app.orders values (7)');
      const copy = openTestDatabase(databaseUrl(target.url, 'crm'));
      const { rows } = await copy.pool.query('select operation, target, key from rowpost.outbox');
      await copy.close();
      expect(rows).to.deep.equal([{ operation: 'insert', target: 'orders', key: { id: 7 } }]);
    });

    describe('a base backup and the log', () => {
      let fleet: Fleet;
      let cluster: SeparateCluster;

      before(async () => {
        cluster = await startSeparateCluster();
        const url = databaseUrl(cluster.url, 'service');
        await runSql(cluster.url, createTemplateSql('service'));
        const database = openTestDatabase(url);
        fleet = await createFleet({
          postgres: { url, database, drop: () => database.close() },
          redisUrl: undefined,
        });
        await fleet.start('web');
        await setUpConfirmations(fleet);
        await startSenders(fleet);
      });
      after(() => fleet.stop());

      it('restore a point in time: earlier commits are delivered, later ones are gone', async () => {
        const folder = path.dirname(cluster.data);
        const base = path.join(folder, 'base');
        const env = { REPLICATION_URL: cluster.superuserUrl, BASE: base };
        await order(fleet, 1);
        await sent(fleet, [1]);
        const made = await recipes.run(['base'], env, cluster.owner);
        expect(made.code, made.output).to.equal(0);

        // Committed after the base backup and not sent: the processes are gone.
        await fleet.moveTo(fleet.testDatabase.url);
        await fleet.start('web');
        await order(fleet, 2);
        const [{ now }] = await query<{ now: string }>(fleet, 'select clock_timestamp()::text as now');
        await order(fleet, 3);
        await startSenders(fleet);
        await sent(fleet, [1, 2, 3]);
        await cluster.stop();
        const lost = path.join(folder, 'lost');
        await rename(cluster.data, lost);

        const begun = performance.now();
        const { archive, data } = cluster;
        const recovery = { LOST: lost, BASE: base, PGDATA: data, ARCHIVE: archive, WHEN: now };
        const recovered = await recipes.run(['recover'], recovery, cluster.owner);
        expect(recovered.code, recovered.output).to.equal(0);
        await cluster.start();
        await waitFor('orders 1 and 2 alone', async () => {
          const rows = await query<{ order_id: number }>(
            fleet,
            'select order_id from tenant_1.orders order by 1',
          );
          return rows.map(({ order_id: id }) => id).join() === '1,2';
        });
        // Its email had left after that moment, and nothing says so any more.
        await waitFor('the second email of order 2', () => emailsPerOrder(fleet).get(2) === 2);
        await order(fleet, 4);
        await waitFor('the email of order 4', () => emailsPerOrder(fleet).has(4));
        expect(sorted(emailsPerOrder(fleet))).to.deep.equal([
          [1, 1],
          [2, 2],
          [3, 1],
          [4, 1],
        ]);
        expect(performance.now() - begun).to.be.below(60_000);
      });
    });
  });
}

async function query<T extends object>({ testDatabase }: Fleet, sql: string): Promise<[T, ...T[]]> {
  return (await testDatabase.database.pool.query<T>(sql)).rows as [T, ...T[]];
}

async function rowpost({ env }: Fleet, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await runRowpost(args, env);
  expect(code, stderr).to.equal(0);
}

async function startSenders(fleet: Fleet): Promise<void> {
  await fleet.start('relay');
  await fleet.start('worker');
}

async function order(fleet: Fleet, id: number): Promise<void> {
  await fleet.request(
    '/query',
    `mutation { create_orders(input: {order_id: ${id}, customer_id: 1}) { order_id } }`,
  );
}

/** Waits until nothing is on its way, and expects one email for each of the orders. */
async function sent(fleet: Fleet, ids: readonly number[]): Promise<void> {
  const last = ids.at(-1)!;
  await waitFor(`the email of order ${last}`, () => emailsPerOrder(fleet).has(last));
  await waitFor('all deliveries', async () => {
    const { email_delivery: open } = await fleet.request<{ email_delivery: unknown[] }>(
      '/roles_pbac',
      `{ email_delivery(filter: "state != 'sent'") { state } }`,
    );
    return open.length === 0;
  });
  expect(sorted(emailsPerOrder(fleet))).to.deep.equal(ids.map((id) => [id, 1]));
}

function sorted(counts: ReadonlyMap<number, number>): readonly (readonly [number, number])[] {
  return [...counts].sort(([a], [b]) => a - b);
}

async function emptyDatabase({ url }: SeparateCluster): Promise<string> {
  // Another oid than that of the original.
  await runSql(url, createTemplateSql('other'));
  await runSql(url, createTemplateSql('restored'));
  return databaseUrl(url, 'restored');
}

/** Owners and rights of all that is not PostgreSQL's own, with roles named apart from the database that they belong to. */
async function readRights({ database }: Pick<TestDatabase, 'database'>): Promise<readonly string[]> {
  const { rows } = await database.pool.query<{ line: string }>(RIGHTS_SQL);
  return rows.map(({ line }) => line.replaceAll(/rowpost_\d+_/g, 'rowpost_N_'));
}

const RIGHTS_SQL = `
  with object(kind, name, owner, acl) as (
    select 'schema', nspname::text, nspowner, nspacl from pg_namespace where nspname in ('rowpost', 'rowpost_tenant', 'bullmq')
    union all select 'schema', nspname, nspowner, nspacl from pg_namespace where nspname ~ '^tenant_'
    union all select 'relation', oid::regclass::text, relowner, relacl from pg_class where relnamespace <> 'pg_toast'::regnamespace
    union all select 'function', oid::regprocedure::text, proowner,
      -- Nobody else has that schema, so what PUBLIC may do in it says nothing.
      case when pronamespace <> 'rowpost'::regnamespace then proacl end from pg_proc
    union all select 'type', oid::regtype::text, typowner, typacl from pg_type
    union all select 'operator', oid::regoperator::text, oprowner, null from pg_operator
    union all select 'statistics', stxname, stxowner, null from pg_statistic_ext
  )
  select concat_ws(' ', kind, name, pg_get_userbyid(owner),
    (select string_agg(a::text, ',' order by a::text) from unnest(acl) a)) as line
  from object where owner <> 10 order by 1`;
