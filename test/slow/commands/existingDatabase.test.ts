import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { drizzle } from 'drizzle-orm/node-postgres';
import { eq } from 'drizzle-orm';
import { integer, pgSchema, serial, text } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { DataTypes, Sequelize } from 'sequelize';
import { post } from '../../../bench/support/installation.js';
import { adoptTenant } from '../../../src/control/tenants/tenants.js';
import { readProcesses } from '../../../src/db/pool/connectedProcesses.js';
import { openRecipes, type Recipes } from '../../processes/recipes.js';
import { runRowpost, startProcess, type RowpostProcess } from '../../support/rowpostProcess.js';
import { startSeparateCluster, type SeparateCluster } from '../../support/separateCluster.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

const GUIDE = readFileSync(new URL('../../../docs/tutorials/existing-database.md', import.meta.url), 'utf8');

/** What the command that adopts asks for. */
const ROOT_PASSWORD = 'long and secret';

/** Debian's package `postgresql-client` has it. */
const HAS_PG_DUMP = spawnSync('pg_dump', ['--version']).status === 0;

/** The text of the guide's block with this tag. */
function block(tag: string): string {
  const found = new RegExp(`\`\`\`${tag}\\n([\\s\\S]*?)\`\`\``).exec(GUIDE)?.[1];
  if (found === undefined) throw new Error(`the guide has no block "${tag}"`);
  return found;
}

/** The variables that the guide sets. */
function documentedSettings(): Record<string, string> {
  const home = mkdtempSync(path.join(os.tmpdir(), 'rowpost-settings-'));
  const options = { encoding: 'utf8' as const, env: { PATH: process.env['PATH'] ?? '', HOME: home } };
  const printed = execFileSync('bash', ['--norc', '-ec', `${block('sh settings')}env -0`], options);
  rmSync(home, { recursive: true });
  const set = printed.split('\0').map((line) => /^([A-Z_]+)=(.*)$/s.exec(line));
  const names = [...block('sh settings').matchAll(/^export (\w+)=/gm)].map(([, name]) => name!);
  return Object.fromEntries(
    set.flatMap((match) => (match && names.includes(match[1]!) ? [[match[1]!, match[2]!]] : [])),
  );
}

describe('docs/tutorials/existing-database.md, with the built program', () => {
  let test: TestDatabase;
  let recipes: Recipes;
  let env: Record<string, string>;
  let appUrl: string;
  let appRole: string;
  let app: pg.Client;
  /** What the application's role was granted by others, before any of it was adopted. */
  let granted: readonly string[];
  let service: RowpostProcess;
  let baseUrl: string;
  let token: string;

  before(async function () {
    test = await createTestDatabase();
    const { pool } = test.database;
    env = { ...documentedSettings(), DATABASE_URL: test.url };
    recipes = await openRecipes('docs/tutorials/existing-database.md');
    const { rows } = await pool.query<{ oid: number; name: string }>(
      'select oid, datname as name from pg_database where datname = current_database()',
    );
    appRole = `crm_app_${rows[0]!.oid}`;
    await pool.query(`create role ${appRole} login password 'app'`);
    await pool.query(`grant connect, create on database ${rows[0]!.name} to ${appRole}`);
    await pool.query(`grant create on schema public to ${appRole}`);
    const url = new URL(test.url);
    url.username = appRole;
    url.password = 'app';
    appUrl = url.href;
    app = new pg.Client({ connectionString: appUrl, application_name: 'psql' });
    await app.connect();
    await app.query(block('sql tables'));
    await pool.query(`grant ${appRole} to current_user`);
    await run('prepare');
    granted = await grantsTo(appRole);
  });
  after(async () => {
    await service.kill('SIGTERM');
    await app.end();
    await test.drop();
    rmSync(recipes.folder, { recursive: true });
  });

  /** The guide's commands. @returns what they print */
  async function run(name: string, settings = env, from = recipes): Promise<string> {
    const { code, output, stdout } = await from.run([name], settings, { input: `${ROOT_PASSWORD}\n` });
    expect(code, output).to.equal(0);
    return stdout;
  }

  /** Memberships, and rights on what is not its own. */
  async function grantsTo(role: string): Promise<readonly string[]> {
    const { rows } = await test.database.pool.query<{ line: string }>(
      `select concat_ws(' ', kind, object, privilege_type) as line from (
         select 'member of' as kind, roleid::regrole::text as object, null as privilege_type from pg_auth_members where member = $1::regrole
         union all select 'relation', c.oid::regclass::text, a.privilege_type from pg_class c, aclexplode(c.relacl) a
           where a.grantee = $1::regrole and c.relowner <> $1::regrole
         union all select 'schema', n.nspname, a.privilege_type from pg_namespace n, aclexplode(n.nspacl) a
           where a.grantee = $1::regrole and n.nspowner <> $1::regrole
         union all select 'function', p.oid::regprocedure::text, a.privilege_type from pg_proc p, aclexplode(p.proacl) a
           where a.grantee = $1::regrole and p.proowner <> $1::regrole
       ) g order by 1`,
      [role],
    );
    return rows.map(({ line }) => line);
  }

  const subjects = async (): Promise<readonly string[]> => {
    const { rows } = await test.database.pool.query<{ subject: string }>(
      'select subject from rowpost.mailbox order by mailid',
    );
    return rows.map(({ subject }) => subject);
  };
  const emailed = async (subject: string): Promise<void> => {
    await waitFor(
      `the email "${subject}"`,
      async () => (await subjects()).filter((item) => item === subject).length === 1,
    );
  };

  const control = (query: string, bearer = token): Promise<unknown> =>
    post(`${baseUrl}/roles_pbac`, { query }, bearer);
  const signIn = async (tenantid: number): Promise<string> => {
    const body = { login: 'root', password: ROOT_PASSWORD, tenantid };
    return (await post<{ access_token: string }>(`${baseUrl}/auth`, body)).access_token;
  };
  it('leads from an existing application to its first email', async () => {
    const made = JSON.parse(await run('adopt')) as {
      tenantid: number;
      root_roleid: number;
    };
    expect(made).to.deep.equal(JSON.parse(block('json adopt')));
    await run('capture');
    service = await startProcess(['all'], env);
    // By this name the console knows which parts run.
    expect((await readProcesses(test.database.pool)).map(({ name }) => name)).to.include('all');
    baseUrl = `http://127.0.0.1:${/"port":(\d+)/.exec(service.log())?.[1] ?? ''}`;
    token = await signIn(1);
    await control(block('graphql email'));
    await control(
      'mutation { create_email_rule(input: { name: "gone", operations: ["delete"], targets: ["customers"], email_type: "paid", query_roleid: 2 }) { ruleid } }',
    );
    await app.query(block('sql write'));
    await emailed('Thank you, Ada');
    expect(await subjects()).to.deep.equal(['Thank you, Ada']);
    const why = await run('why');
    expect(why).to.match(/^orders \{"id":1\}\ncaptured: every writer\nrow: exists\n\n/);
    expect(why).to.match(
      new RegExp(` update by SQL of "?${appRole}"? \\(psql\\): compared with the rules\n`),
    );
    expect(why).to.match(/ {2}rule \d+ "paid orders": matched[^]* delivery \d+ of "paid": (sent|sending)/);
    expect(why).to.match(/ insert by SQL [^]*"paid orders": condition_false[^]* {4}new\.paid_at = null\n/);
    expect(why).to.include('\n  rules about other tables: 1\n').and.not.include('"gone"');
    const response = await post(
      `${baseUrl}/query`,
      { query: '{ customers { name orders_collection { total } } }' },
      token,
    );
    expect(response).to.deep.equal({
      data: { customers: [{ name: 'Ada', orders_collection: [{ total: 80 }] }] },
    });
  });

  const query = async (text: string, bearer: string): Promise<unknown> =>
    (await post<{ data: unknown }>(`${baseUrl}/query`, { query: text }, bearer)).data;

  /** A rule that emails the word of each row that is inserted or updated. @returns a token of the tenant's root */
  async function emailWords(schema: string, table: string): Promise<string> {
    const root = { rootLogin: 'root', rootPassword: ROOT_PASSWORD };
    const { tenantid, rootRoleid } = await adoptTenant(test.database.pool, { name: schema, schema, ...root });
    const bearer = await signIn(tenantid);
    await control(
      `mutation {
        Utility { set_capture(table_name: "${table}", writers: all) { writers } }
        set_email_apikey(apikey: "SG.key") { apikey }
        create_email_type(input: {email_type: "word", subject: "{{ records.new.word }}", sender: "a@example.com", recipients: ["b@example.com"], template: "x"}) { email_type }
        create_email_rule(input: {name: "words", operations: ["insert", "update"], targets: ["${table}"], email_type: "word", query_roleid: ${rootRoleid}}) { ruleid }
      }`,
      bearer,
    );
    return bearer;
  }

  it('works with Sequelize', async () => {
    await app.query('create schema sequelized');
    const sequelize = new Sequelize(appUrl, { logging: false, schema: 'sequelized' });
    const Author = sequelize.define(
      'author',
      { name: DataTypes.STRING },
      { schema: 'sequelized', freezeTableName: true },
    );
    const Letter = sequelize.define(
      'letter',
      { word: DataTypes.STRING, mood: DataTypes.ENUM('glad', 'sad') },
      { schema: 'sequelized', freezeTableName: true },
    );
    Author.hasMany(Letter);
    await sequelize.sync();
    const bearer = await emailWords('sequelized', 'letter');
    const author = await Author.create({ name: 'Ada' });
    const letter = await Letter.create({ word: 'created', mood: 'glad', authorId: author.get('id') });
    await letter.update({ word: 'updated' });
    await Letter.bulkCreate([{ word: 'bulk one' }, { word: 'bulk two', mood: 'sad' }]);
    await sequelize
      .transaction(async (transaction) => {
        await Letter.create({ word: 'rolled back' }, { transaction });
        throw new Error('no');
      })
      .catch(() => undefined);
    await Letter.upsert({ id: letter.get('id'), word: 'upserted' });
    for (const word of ['created', 'updated', 'bulk one', 'bulk two', 'upserted']) await emailed(word);
    expect(await subjects()).not.to.include('rolled back');
    expect(await query('{ author { name letter_collection { word mood } } }', bearer)).to.deep.equal({
      author: [{ name: 'Ada', letter_collection: [{ word: 'upserted', mood: 'glad' }] }],
    });
    await sequelize.close();
  });

  it('works with Drizzle', async () => {
    await app.query(
      `create schema drizzled; create table drizzled.writer (id serial primary key, name text not null);
       create table drizzled.post (id serial primary key, word text not null, likes int, writer_id int references drizzled.writer)`,
    );
    const writer = pgSchema('drizzled').table('writer', {
      id: serial('id').primaryKey(),
      name: text('name').notNull(),
    });
    const post_ = pgSchema('drizzled').table('post', {
      id: serial('id').primaryKey(),
      word: text('word').notNull(),
      likes: integer('likes'),
      writerId: integer('writer_id').references(() => writer.id),
    });
    const bearer = await emailWords('drizzled', 'post');
    const pool = new pg.Pool({ connectionString: appUrl });
    const db = drizzle(pool);
    const [grace] = await db.insert(writer).values({ name: 'Grace' }).returning();
    const [row] = await db
      .insert(post_)
      .values([{ word: 'drizzle one', writerId: grace!.id }, { word: 'drizzle two' }])
      .returning();
    await db.transaction(async (trx) => {
      await trx.update(post_).set({ word: 'drizzle three' }).where(eq(post_.id, row!.id));
    });
    await db
      .insert(post_)
      .values({ id: row!.id, word: 'x' })
      .onConflictDoUpdate({ target: post_.id, set: { word: 'drizzle four' } });
    for (const number of ['one', 'two', 'three', 'four']) await emailed(`drizzle ${number}`);
    expect(await query('{ post(ordering: "id") { word writer { name } } }', bearer)).to.deep.equal({
      post: [
        { word: 'drizzle four', writer: { name: 'Grace' } },
        { word: 'drizzle two', writer: null },
      ],
    });
    await pool.end();
  });

  it('works with COPY', async () => {
    await app.query(
      `create schema plain; create table plain.page (id int primary key, title text);
       create table plain.line (id int primary key, word text, page_id int references plain.page)`,
    );
    const bearer = await emailWords('plain', 'line');
    await copyIn(app, 'copy plain.page from stdin', '1\tfirst\n');
    await copyIn(app, 'copy plain.line from stdin', '1\tcopied one\t1\n2\tcopied two\t1\n');
    for (const number of ['one', 'two']) await emailed(`copied ${number}`);
    expect(await query('{ page { title line_collection(ordering: "id") { word } } }', bearer)).to.deep.equal({
      page: [{ title: 'first', line_collection: [{ word: 'copied one' }, { word: 'copied two' }] }],
    });
  });

  it('is looked after by the commands of docs/reference/metrics-and-alerts.md', async () => {
    const { rows } = await test.database.pool.query<{ id: string }>(
      'select min(deliveryid)::text as id from rowpost.email_delivery where tenantid = 1',
    );
    const commands = await openRecipes('docs/reference/metrics-and-alerts.md');
    const printed = await run('redrive', { ...env, TENANT: '1', DELIVERY: rows[0]!.id }, commands);
    expect(printed)
      .to.match(/^✓ postgres /m)
      .and.to.match(/^\{"tenantid":1,"redriven":1\}\n\{"tenantid":1,"redriven":0\}$/m);
    await waitFor('the second attempt', async () => {
      const { rows: sent } = await test.database.pool.query(
        "select from rowpost.email_attempt where deliveryid = $1 and outcome = 'sent'",
        [rows[0]!.id],
      );
      return sent.length === 2;
    });
    rmSync(commands.folder, { recursive: true });
  });

  it('is captured in many tables by the command of docs/reference/capture-and-grants.md', async () => {
    await app.query(
      'create table audit_login (id int primary key); create table session (id int primary key)',
    );
    const commands = await openRecipes('docs/reference/capture-and-grants.md');
    const printed = await run('capture', env, commands);
    expect(printed)
      .to.include('customers')
      .and.to.include('orders')
      .and.not.to.match(/audit_login|session/);
    rmSync(commands.folder, { recursive: true });
  });

  it("grants the applications' role no new privileges", async () => {
    expect(await grantsTo(appRole)).to.deep.equal(granted);
  });

  it('is reversible', async () => {
    expect(JSON.parse(await run('release'))).to.deep.equal({ released: 'public' });
    await app.query(block('sql write').replaceAll('ada@', 'late@'));
    const { rows } = await test.database.pool.query(
      `select 1 from pg_trigger t join pg_class c on c.oid = t.tgrelid
       where c.relnamespace = 'public'::regnamespace and tgname like 'rowpost%'`,
    );
    expect(rows).to.deep.equal([]);
  });

  describe('in a cluster without the service', () => {
    let cluster: SeparateCluster;
    let superuser: pg.Client;
    /** Of the superuser, in the application's database. */
    let owner: pg.Client;
    let settings: Record<string, string>;
    let before: readonly string[];

    beforeEach(async () => {
      cluster = await startSeparateCluster();
      const rules = path.join(cluster.data, 'pg_hba.conf');
      await cluster.stop();
      writeFileSync(rules, `host all postgres 127.0.0.1/32 trust\n${readFileSync(rules, 'utf8')}`);
      await cluster.start();
      const url = new URL(cluster.superuserUrl);
      superuser = new pg.Client({ connectionString: url.href });
      await superuser.connect();
      await superuser.query('alter role rowpost rename to earlier');
      await superuser.query('create role crm_app');
      before = await roles();
      await superuser.query('create database crm owner crm_app');
      url.pathname = '/crm';
      owner = new pg.Client({ connectionString: url.href });
      await owner.connect();
      await owner.query(`set role crm_app; ${block('sql tables')}; reset role`);
      [url.username, url.password] = ['rowpost', 'change-me'];
      settings = { ...env, DATABASE_URL: url.href };
    });
    afterEach(async () => {
      await Promise.all([owner.end(), superuser.end()]);
      await cluster.stop();
    });

    const roles = async (): Promise<readonly string[]> => {
      const { rows } = await superuser.query<{ rolname: string }>('select rolname from pg_roles order by 1');
      return rows.map(({ rolname }) => rolname);
    };
    const asOwner = (sql: string) => owner.query(`set role crm_app; ${sql}; reset role`);

    it('leaves nothing behind once the rest is removed', async () => {
      await superuser.query(block('sql role'));
      for (const name of ['prepare', 'adopt', 'capture']) await run(name, settings);
      if (HAS_PG_DUMP) {
        const { port } = new URL(cluster.superuserUrl);
        const application = {
          PGHOST: '127.0.0.1',
          PGPORT: port,
          PGUSER: 'postgres',
          PGOPTIONS: '-c role=crm_app',
        };
        const dump = await run('dump', { ...settings, ...application });
        expect(dump).to.include('CREATE TABLE public.orders').and.not.to.include('CREATE TABLE rowpost');
      }
      await run('release', settings);
      expect(await roles()).not.to.deep.equal(before);
      await owner.query(block('sql remove'));
      expect(await roles()).to.deep.equal(before);
      const schemas = await owner.query("select from pg_namespace where nspname ~ '^(rowpost|bullmq)'");
      expect(schemas.rows).to.have.lengthOf(0);
    });

    it('prints what the owners have to run, without membership', async () => {
      await superuser.query(block('sql role').replace('grant crm_app to rowpost;', ''));
      await run('prepare', settings);
      const [, ...printed] = (await run('print', settings)).trim().split('\n');
      const half = printed.length / 2;
      expect(printed.slice(half)).to.deep.equal(printed.slice(0, half)).and.not.to.deep.equal([]);
      await asOwner(printed.slice(half).join('\n'));
      const missing = await runRowpost(['tenant', 'adopt', '--schema', 'public', '--print-sql'], settings);
      expect(missing).to.deep.include({ code: 0, stdout: '' });
      const toRevoke = await runRowpost(['tenant', 'release', '--tenant', '1', '--print-sql'], settings);
      await asOwner(toRevoke.stdout);
      expect(JSON.parse(await run('release', settings))).to.deep.equal({ released: 'public' });
    });
  });
});

/** `COPY … FROM STDIN` as psql sends it. */
function copyIn(client: pg.Client, sql: string, data: string): Promise<void> {
  interface CopyConnection {
    query(text: string): void;
    sendCopyFromChunk(chunk: Buffer): void;
    endCopyFrom(): void;
  }
  return new Promise((resolve, reject) => {
    const query = {
      submit: (connection: CopyConnection) => {
        connection.query(sql);
      },
      handleCopyInResponse: (connection: CopyConnection) => {
        connection.sendCopyFromChunk(Buffer.from(data));
        connection.endCopyFrom();
      },
      handleCommandComplete: () => undefined,
      handleReadyForQuery: () => {
        resolve();
      },
      handleError: reject,
    };
    client.query(query as unknown as pg.Submittable);
  });
}
