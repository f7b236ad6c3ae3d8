import { expect } from 'chai';
import pg from 'pg';
import { captureTable } from '../../src/control/utility/capture.js';
import { adoptTenant, type AdoptedTenant } from '../../src/control/tenants/tenants.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { createDataEngine } from '../../src/graphql/dataEngine.js';
import { testConfig, testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

const INSUFFICIENT_PRIVILEGE = '42501';

/** Two applications in one database, each with a schema of its own whose tables are captured. */
describe("attack: another tenant's events", () => {
  let test: TestDatabase;
  let victim: AdoptedTenant;
  let mallory: AdoptedTenant;
  /** Of the oid of this database: roles belong to all databases of a server. */
  let mark: number;
  const sessions: pg.Client[] = [];
  /** Who tries, each by what runs a statement and returns the SQLSTATE that it fails with. */
  const attackers: Record<string, (sql: string) => Promise<string | undefined>> = {};

  const connect = async (user: string): Promise<pg.Client> => {
    const url = new URL(test.url);
    url.username = `${user}_${mark}`;
    url.password = user;
    const client = new pg.Client({ connectionString: url.href, application_name: user });
    await client.connect();
    sessions.push(client);
    return client;
  };
  const stateOf = (work: Promise<unknown>): Promise<string | undefined> =>
    work.then(
      () => undefined,
      (error: unknown) => {
        const { code, details } = error as { code?: string; details?: { sqlstate?: string } };
        return details?.sqlstate ?? code;
      },
    );

  before(async () => {
    test = await createTestDatabase();
    const { database } = test;
    const { rows } = await database.pool.query<{ oid: number; name: string }>(
      'select oid, datname as name from pg_database where datname = current_database()',
    );
    mark = rows[0]!.oid;
    for (const user of ['victim', 'mallory', 'clerk']) {
      await database.pool.query(`create role ${user}_${mark} login password '${user}'`);
      await database.pool.query(`grant connect, create on database ${rows[0]!.name} to ${user}_${mark}`);
    }
    for (const user of ['victim', 'mallory']) {
      const owner = await connect(user);
      await owner.query(
        `create schema ${user}; create table ${user}.item (id serial primary key, word text);
         create table ${user}.other (id int primary key)`,
      );
      await database.pool.query(`grant ${user}_${mark} to current_user`);
    }
    await sessions[1]!.query(
      `grant usage on schema mallory to clerk_${mark}; grant insert on mallory.item to clerk_${mark};
       grant usage on all sequences in schema mallory to clerk_${mark}`,
    );
    const engine = createDataEngine({
      database,
      config: testConfig(),
      log: testLog,
      onCommitted: () => undefined,
    });
    const adopt = async (schema: string): Promise<AdoptedTenant> => {
      const root = { rootLogin: 'root', rootPassword: 'correct horse' };
      const tenant = await adoptTenant(database.pool, { name: schema, schema, ...root });
      const catalog = await engine.introspect(tenant.tenantid, schema);
      await inTransaction(database.pool, (trx) =>
        captureTable(trx, database, { tenantid: tenant.tenantid, catalog, table: 'item' }, 'all'),
      );
      return tenant;
    };
    victim = await adopt('victim');
    mallory = await adopt('mallory');
    const clerk = await connect('clerk');
    attackers['the owner of its own tables'] = (sql) => stateOf(sessions[1]!.query(sql));
    attackers['a user of its own tables'] = (sql) => stateOf(clerk.query(sql));
    attackers['its role of Rowpost'] = (sql) =>
      stateOf(runTenantSql(database, { tenantid: mallory.tenantid, sql }));
  });
  after(async () => {
    await Promise.all(sessions.map((client) => client.end()));
    await test.drop();
  });

  const eventsOf = async ({ tenantid }: AdoptedTenant): Promise<readonly object[]> =>
    (
      await test.database.pool.query<object>(
        'select operation, target, new ->> $2 as word, roleid, application from rowpost.outbox where tenantid = $1 order by eventid',
        [tenantid, 'word'],
      )
    ).rows;
  const ROLES = ['the owner of its own tables', 'a user of its own tables', 'its role of Rowpost'];

  const denied: readonly (readonly [what: string, sql: () => string])[] = [
    [
      'forge one in the outbox',
      () =>
        `insert into rowpost.outbox (tenantid, operation, target, key) values (${victim.tenantid}, 'insert', 'item', '{"id" : 1}')`,
    ],
    [
      'forge one by the trigger, attached to a table of its own',
      () =>
        `create trigger t after insert on mallory.other execute function rowpost.capture_rows('1', 'item', 'item', 'id')`,
    ],
    ['forge one by calling the trigger', () => 'select rowpost.capture_rows()'],
    ['forge one by writing to the table', () => `insert into victim.item (word) values ('forged')`],
    ['redirect its own by moving its table', () => 'alter table mallory.item set schema victim'],
    ['redirect them by renaming the tenant', () => `update rowpost.tenant set schema = 'mallory'`],
    ['replace what captures', () => 'alter function rowpost.capture_rows() set search_path = mallory'],
    ['read them', () => 'select * from rowpost.outbox'],
    ['read them by the door for events', () => 'select * from rowpost_tenant.event'],
    ['read them by that of files', () => 'select * from rowpost.upload_event'],
    ['suppress them by its triggers', () => 'alter table victim.item disable trigger user'],
    ['suppress them by dropping one', () => 'drop trigger rowpost_capture_insert on victim.item'],
    ['suppress them by a setting', () => 'set session_replication_role = replica'],
    ['suppress them by what is captured', () => 'delete from rowpost.captured_table'],
    ['hold them up by a lock', () => 'do $$ begin lock table rowpost.outbox; end $$'],
    [
      'become who writes them',
      () =>
        `do $$ begin execute 'set role ' || (select quote_ident(pg_get_userbyid(proowner)) from pg_proc where proname = 'capture_rows'); end $$`,
    ],
    [
      "become the other tenant's role",
      () => `do $$ begin execute 'set role rowpost_${mark}_tenant_${victim.tenantid}'; end $$`,
    ],
  ];
  for (const role of ROLES) {
    for (const [what, sql] of denied) {
      it(`${role} can't ${what}`, async () => {
        expect(await attackers[role]!(sql())).to.equal(INSUFFICIENT_PRIVILEGE);
      });
    }
  }

  it('none of these attempts left an event of either tenant', async () => {
    expect([await eventsOf(victim), await eventsOf(mallory)]).to.deep.equal([[], []]);
  });

  it('settings, functions and views of a session neither reassign nor suppress an event', async () => {
    const [, owner] = sessions;
    await owner!
      .query(
        `
      create function pg_temp.row_to_json(record) returns json language sql as $$ select '{"word":"stolen"}'::json $$;
      create function pg_temp.concat(variadic "any") returns text language internal immutable as 'textlen';
    `,
      )
      .catch(() => undefined);
    await owner!.query(`
      create temp view tenant as select ${victim.tenantid} as tenantid, 'mallory' as schema;
      set search_path = pg_temp, mallory;
      set rowpost.roleid = '1'; set rowpost.uploading = 'on'; set role none;
      insert into mallory.item (word) values ('mine')`);
    const event = { operation: 'insert', target: 'item', word: 'mine', roleid: null, application: 'mallory' };
    expect(await eventsOf(mallory)).to.deep.equal([event]);
    await sessions[0]!.query(`insert into victim.item (word) values ('own')`);
    expect(await eventsOf(victim)).to.deep.equal([{ ...event, word: 'own', application: 'victim' }]);
  });

  it('a writer without privileges on the ledger is recorded', async () => {
    expect(
      await attackers['a user of its own tables']!(`insert into mallory.item (word) values ('clerk')`),
    ).to.equal(undefined);
    expect((await eventsOf(mallory)).at(-1)).to.include({ word: 'clerk', application: 'clerk' });
  });
});
