import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { joinDirectory } from '../../../src/db/cells/directory/cells.js';
import {
  migrateDirectory,
  openDirectory,
  type Directory,
} from '../../../src/db/cells/directory/directory.js';
import type { Database } from '../../../src/db/pool/database.js';
import { sqlState } from '../../../src/db/sql/sqlState.js';
import { openRecipes, type Recipes } from '../../processes/recipes.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { PREPARED_TEMPLATE } from '../../support/preparedCluster.js';
import { runRowpost, spawnRowpost, startProcess } from '../../support/rowpostProcess.js';
import { runSql } from '../../support/runSql.js';
import { startSeparateCluster, type SeparateCluster } from '../../support/separateCluster.js';
import { databaseUrl, openTestDatabase } from '../../support/templateDatabase.js';
import { testLog } from '../../support/testConfig.js';
import { waitFor } from '../../support/waitFor.js';

/** Debian's package `postgresql-client` has them; those of version 15 can't dump a newer server. */
const HAS_CLIENT_PROGRAMS = ['pg_dump', 'psql'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
);

const ORDERS = 20_000;
const TABLES = `
  create type kind as enum ('new', 'paid');
  create table customer (id int primary key, name text not null);
  create table orders (
    id bigint generated always as identity primary key, customer_id int not null references customer,
    kind kind not null default 'new', amount numeric(12, 2) not null,
    twice numeric generated always as (amount * 2) stored, note text not null);
  create index on orders (note);
  create table log (day date, n int, primary key (day, n)) partition by range (day);
  create table log_1 partition of log for values from ('2026-01-01') to ('2026-07-01');
  create table log_2 partition of log for values from ('2026-07-01') to ('2027-01-01');
  create table "tag ""of"" all" (name text);
  alter table "tag ""of"" all" replica identity full;
  insert into customer values (1, 'someone');
  insert into orders (customer_id, amount, note) select 1, n, 'old' from generate_series(1, ${ORDERS}) n;`;

if (HAS_CLIENT_PROGRAMS) {
  describe('a large tenant, whose tables the target follows before it moves', () => {
    let clusters: readonly SeparateCluster[];
    let source: Database;
    let target: Database;
    let directory: Directory;
    let recipes: Recipes;
    let env: Readonly<Record<string, string>>;
    let tenantid: number;
    let schema: string;
    let shop: Shop;

    before(async () => {
      clusters = await Promise.all([startSeparateCluster(), startSeparateCluster()]);
      const [here, there] = clusters as [SeparateCluster, SeparateCluster];
      for (const { url } of clusters) await runSql(url, `create database cell template ${PREPARED_TEMPLATE}`);
      await runSql(here.url, 'create database directory');
      const [sourceUrl, targetUrl] = [databaseUrl(here.url, 'cell'), databaseUrl(there.url, 'cell')];
      source = openTestDatabase(sourceUrl);
      target = openTestDatabase(targetUrl);
      directory = openDirectory(databaseUrl(here.url, 'directory'), 'test', testLog);
      await migrateDirectory(directory);
      for (const [idRange, { pool }] of [source, target].entries()) {
        const name = `cell${idRange + 1}`;
        await joinDirectory(directory, pool, { name, baseUrl: `http://${name}.example`, idRange });
      }
      const created = await createTestTenant(source.pool, {
        name: 'large',
        rootLogin: 'root',
        rootPassword: 'correct horse',
      });
      ({ tenantid, schema } = created);
      recipes = await openRecipes('docs/how-to/cells.md');
      env = {
        DATABASE_URL: sourceUrl,
        TARGET_DATABASE_URL: targetUrl,
        DIRECTORY_URL: databaseUrl(here.url, 'directory'),
        CELL: 'cell1',
        CELL_URL: 'http://cell1.example',
        STORAGE_URL: `file:${path.join(recipes.folder, 'files')}`,
        PXADMIN_PASSWORD: 'pxadmin-password',
        MAIL_TRANSPORT: 'mailbox',
        TENANT: String(tenantid),
        SOURCE_ADMIN_URL: databaseUrl(here.superuserUrl, 'cell'),
        TARGET_ADMIN_URL: databaseUrl(there.superuserUrl, 'cell'),
        FOLLOW_PASSWORD: "it's a secret",
        SOURCE: `host=127.0.0.1 port=${new URL(here.url).port} dbname=cell user=rowpost_follow password='it\\'s a secret' options=-crow_security=off`,
      };
      await succeed(['tenant', 'sql', '--tenant', env['TENANT']!, '-f', '-'], TABLES);
      await succeed([
        'tenant',
        'capture',
        '--tenant',
        env['TENANT']!,
        '--table',
        'orders',
        '--writers',
        'all',
      ]);
      // What it has not read is carried.
      const relay = await startProcess(['relay'], env);
      await waitFor('a poll', async () => (await count(source, 'rowpost.relay_poll')) > 0);
      await relay.kill('SIGTERM');
      await run('replication role');
      shop = await openShop(sourceUrl, schema);
    });
    after(async () => {
      await shop.stop();
      await Promise.all([source.close(), target.close(), directory.close()]);
      await rm(recipes.folder, { recursive: true });
    });

    const run = async (...names: readonly string[]): Promise<string> => {
      const { code, output } = await recipes.run(names, env);
      expect(code, output).to.equal(0);
      return output;
    };
    const succeed = async (args: readonly string[], stdin?: string): Promise<void> => {
      const { code, stderr } = await runRowpost(args, env, stdin);
      expect(code, stderr).to.equal(0);
    };
    const refusalOf = async (args: readonly string[], stdin?: string): Promise<string> => {
      const { code, stderr } = await runRowpost(args, env, stdin);
      expect(code, stderr).to.equal(1);
      return stderr;
    };
    const move = (...more: readonly string[]): readonly string[] => [
      ...['tenant', 'move', '--tenant', env['TENANT']!],
      ...more,
    ];
    const to = ['--to', 'cell2'];
    const admin = (sql: string, name = 'TARGET_ADMIN_URL'): Promise<void> => runSql(env[name]!, sql);
    const copied = async (): Promise<void> => {
      await waitFor('all rows to be copied', async () => (await run('uncopied')) === '0\n', {
        timeoutMs: 60_000,
      });
    };
    /**
     * Kills the command some time after its move has reached the step, or as it ends.
     * @returns the step that the move was left at
     */
    const strike = async (args: readonly string[], step: string, afterMs: number): Promise<string> => {
      const before = await lastMove();
      const child = spawnRowpost(args, env);
      const closed = once(child, 'close');
      const isThere = async (): Promise<boolean> => {
        const last = await lastMove();
        return child.exitCode !== null || (last.moveid > before.moveid && last.step === step);
      };
      await waitFor(`the step ${step}`, isThere, { timeoutMs: 60_000, intervalMs: 2 });
      await delay(afterMs);
      child.kill('SIGKILL');
      await closed;
      return (await lastMove()).step;
    };
    const lastMove = async (): Promise<{ readonly moveid: number; readonly step: string }> => {
      const { rows } = await directory.pool.query<{ moveid: number; step: string }>(
        `select moveid::int as moveid, step from rowpost_directory.move where tenantid = $1 order by moveid desc limit 1`,
        [tenantid],
      );
      return rows[0] ?? { moveid: 0, step: 'none' };
    };
    /** The source's: its writers go on. */
    const goesOn = async (): Promise<void> => {
      const { changes } = shop;
      await waitFor('writers to go on', () => shop.changes > changes + 3, { timeoutMs: 30_000 });
    };

    it('is published once the target has its tables, also if the command was killed before', async () => {
      for (const afterMs of [0, 150, 600]) await strike(move(...to, '--follow'), 'copying', afterMs);
      await run('follow');
      await goesOn();
      const followed = await lastMove();
      await succeed(move(...to, '--follow'));
      expect(await lastMove()).to.deep.equal(followed);
      expect(await refusalOf(move('--to', 'cell3', '--follow'))).to.contain('is followed by "cell2"');
      expect(
        await refusalOf(
          ['tenant', 'sql', '--tenant', env['TENANT']!, '-f', '-'],
          'create table more (id int)',
        ),
      ).to.contain('are followed by another cell');
      await copied();
    });

    it('does not move while rows or tables differ', async () => {
      const other = `update ${schema}.orders set amount = amount + 1 where id = ${ORDERS}`;
      await admin(`set session_replication_role = replica; ${other}`);
      expect(await refusalOf(move(...to))).to.contain(`the rows of "orders" differ: `);
      await admin(`set session_replication_role = replica; ${other.replace('+', '-')}`);
      const created = `create index later on ${schema}.orders (kind)`;
      await admin(created, 'SOURCE_ADMIN_URL');
      expect(await refusalOf(move(...to))).to.contain(
        `CREATE INDEX later ON ${schema}.orders USING btree (kind); (here)`,
      );
      await admin(`drop index ${schema}.later`, 'SOURCE_ADMIN_URL');
      await admin(`alter subscription rowpost_move_${tenantid} disable`);
      expect(await refusalOf(move(...to))).to.contain('is disabled');
      await admin(`alter subscription rowpost_move_${tenantid} enable`);
      await goesOn();
    });

    it('is as before once that is aborted, which needs the subscription to be dropped', async () => {
      expect(await refusalOf(move('--abort'))).to.contain(`drop it, and run the command again`);
      await goesOn();
      await admin(`drop subscription rowpost_move_${tenantid}`);
      await succeed(move('--abort'));
      expect(await count(source, 'pg_publication')).to.equal(0);
      expect(await count(source, 'pg_replication_slots')).to.equal(0);
      expect(await count(target, `pg_namespace where nspname = '${schema}'`)).to.equal(0);
      await succeed(
        ['tenant', 'sql', '--tenant', env['TENANT']!, '-f', '-'],
        'create index on orders (kind)',
      );
      await run('follow');
      await copied();
    });

    it('is served by the source after a kill before the fence, and followed after each before "turned"', async () => {
      for (const afterMs of [0, 300, 900]) {
        expect(await strike(move(...to), 'copying', afterMs)).to.equal('copying');
        await goesOn();
      }
      expect(await strike(move(...to), 'fenced', 200)).to.equal('fenced');
      expect(await refusalOf(move(...to, '--follow'))).to.contain('moves already');
      expect(await strike(move(...to), 'copying', 0)).to.equal('copying');
      await goesOn();
      expect(await count(target, `pg_subscription_rel where srsubstate = 'r'`)).to.equal(5);
    });

    it('moves with every row and every event once, also if it is killed as "turned"', async () => {
      // However fast the command is, it doesn't get further.
      await directory.pool.query(
        `create function rowpost_directory.refuse() returns trigger language plpgsql as $$ begin raise 'not yet'; end $$;
         create trigger refuse_done before update on rowpost_directory.move
           for each row when (new.step = 'done') execute function rowpost_directory.refuse()`,
      );
      expect(await strike(move(...to), 'turned', 0)).to.equal('turned');
      await directory.pool.query('drop function rowpost_directory.refuse() cascade');
      await run('move followed');
      await shop.stop();
      expect(shop.changes).to.be.above(100);
      const { pool } = target;
      const { rows: orders } = await pool.query<Order>(
        `select id::text, amount::text, note from ${schema}.orders where note <> 'old' order by orders.id`,
      );
      expect(orders).to.deep.equal([...shop.orders.values()]);
      expect(await count(target, `${schema}.orders where note = 'old' and twice = 2 * id`)).to.equal(ORDERS);
      const { rows: tags } = await pool.query<{ name: string }>(
        `select name from ${schema}."tag ""of"" all" order by name::int`,
      );
      expect(tags.map(({ name }) => name)).to.deep.equal([...shop.tags]);
      expect(await count(target, `${schema}.log`)).to.equal(shop.logged);

      expect(await count(target, `rowpost.outbox where tenantid = ${tenantid}`)).to.equal(shop.changes);
      await pool.query(`insert into ${schema}.orders (customer_id, amount, note) values (1, 1, 'there')`);
      expect(await count(target, `rowpost.outbox where tenantid = ${tenantid}`)).to.equal(shop.changes + 1);

      expect(await count(target, 'pg_subscription')).to.equal(0);
      expect(await count(source, 'pg_publication')).to.equal(0);
      expect(await count(source, 'pg_replication_slots')).to.equal(0);
      expect(await count(source, `pg_namespace where nspname = '${schema}'`)).to.equal(0);
    });
  });
}

async function count({ pool }: Database, from: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(`select count(*)::int as n from ${from}`);
  return rows[0]?.n ?? NaN;
}

interface Order {
  readonly id: string;
  readonly amount: string;
  readonly note: string;
}

/** An application that writes by SQL, statement by statement, and what it was told is committed. */
interface Shop {
  /** Its own, by id. */
  readonly orders: ReadonlyMap<string, Order>;
  readonly tags: ReadonlySet<string>;
  readonly logged: number;
  /** Of orders: each is an event. */
  readonly changes: number;
  stop(): Promise<void>;
}

/** Fenced; the schema is gone. */
const TRY_AGAIN = '42501';
const GONE = new Set(['42P01', '3F000']);

async function openShop(url: string, schema: string): Promise<Shop> {
  const client = new pg.Client(url);
  await client.connect();
  const orders = new Map<string, Order>();
  const tags = new Set<string>();
  let [logged, changes, turn, isOpen] = [0, 0, 0, true];
  const write = async (sql: string, values: readonly unknown[]): Promise<readonly Order[]> => {
    for (;;) {
      try {
        return (await client.query<Order>(sql, [...values])).rows;
      } catch (error) {
        if (!isOpen || sqlState(error) !== TRY_AGAIN) throw error;
        await delay(20);
      }
    }
  };
  const RETURNING = 'returning id::text, amount::text, note';
  const writeOne = async (): Promise<void> => {
    const name = String(++turn);
    const ids = [...orders.keys()];
    const [oldest] = tags;
    const one = ids[turn % Math.max(1, ids.length)];
    if (turn % 7 === 3 && one !== undefined) {
      await write(`delete from ${schema}.orders where id = $1 ${RETURNING}`, [one]);
      orders.delete(one);
      changes++;
    } else if (turn % 3 === 1 && one !== undefined) {
      const [order] = await write(
        `update ${schema}.orders set amount = amount + 1 where id = $1 ${RETURNING}`,
        [one],
      );
      orders.set(one, order!);
      changes++;
    } else if (turn % 5 === 0) {
      await write(`insert into ${schema}."tag ""of"" all" values ($1)`, [name]);
      tags.add(name);
      if (turn % 10 !== 0 || oldest === undefined) return;
      await write(`delete from ${schema}."tag ""of"" all" where name = $1`, [oldest]);
      tags.delete(oldest);
    } else if (turn % 11 === 0) {
      await write(`insert into ${schema}.log values (date '2026-06-01' + $1 % 60, $1)`, [turn]);
      logged++;
    } else {
      const [order] = await write(
        `insert into ${schema}.orders (customer_id, amount, note) values (1, $1, $2) ${RETURNING}`,
        [turn, `new ${name}`],
      );
      orders.set(order!.id, order!);
      changes++;
    }
  };
  const writing = (async () => {
    while (isOpen) {
      await writeOne();
      await delay(15);
    }
  })().catch((error: unknown) => {
    if (!GONE.has(sqlState(error) ?? '')) throw error;
  });
  return {
    orders,
    tags,
    get logged() {
      return logged;
    },
    get changes() {
      return changes;
    },
    async stop() {
      isOpen = false;
      await writing;
      await client.end();
    },
  };
}
