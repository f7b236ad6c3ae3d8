import { expect } from 'chai';
import pg from 'pg';
import { captureTable } from '../../../src/control/utility/capture.js';
import { adoptTenant, deleteTenant, type AdoptedTenant } from '../../../src/control/tenants/tenants.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import {
  adoptionWarnings,
  statementsToAdopt,
  statementsToRelease,
} from '../../../src/db/tenants/adoption.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { PrincipalSource, type Principal } from '../../../src/db/roles/principal.js';
import { createDataEngine, type DataEngine } from '../../../src/graphql/dataEngine.js';
import { testConfig, testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

const TABLES = `
  create domain amount as numeric(12, 2) check (value >= 0);
  create type state as enum ('open', 'paid');
  create table customer (id serial primary key, name text not null, email text unique);
  create table orders (id bigserial primary key, customer_id int not null references customer on delete cascade,
    state state not null default 'open', total amount, doubled numeric generated always as (total * 2) stored);
  create table visit (at date not null, customer_id int) partition by range (at);
  create table visit_2026 partition of visit for values from ('2026-01-01') to ('2027-01-01');
  create table note (body text);
  create table special_customer (discount int, primary key (id)) inherits (customer);
  create view paid as select * from orders where state = 'paid';
  create function touch() returns trigger language plpgsql as 'begin new.name := trim(new.name); return new; end';
  create trigger touch before insert on customer for each row execute function touch();
  create table hidden (id int primary key, owner text);
  alter table hidden enable row level security;
  create policy mine on hidden using (owner = 'everybody');
  insert into customer (name) values ('Ada'), ('Grace');
  insert into hidden values (1, 'everybody'), (2, 'nobody');
`;

describe('an application-owned schema', () => {
  let test: TestDatabase;
  let app: pg.Client;
  let appRole: string;
  let engine: DataEngine;

  before(async () => {
    test = await createTestDatabase();
    const { pool } = test.database;
    const { rows } = await pool.query<{ oid: number; database: string }>(
      'select oid, datname as database from pg_database where datname = current_database()',
    );
    appRole = `app_${rows[0]!.oid}`;
    await pool.query(`create role ${appRole} login password 'app'`);
    await pool.query(`grant connect, create on database ${rows[0]!.database} to ${appRole}`);
    const url = new URL(test.url);
    url.username = appRole;
    url.password = 'app';
    app = new pg.Client({ connectionString: url.href, application_name: 'the app' });
    await app.connect();
    for (const schema of ['crm', 'shop']) {
      await app.query(`create schema ${schema}; set search_path = ${schema}; ${TABLES}`);
    }
    await app.query('create table crm.lead (id int primary key, order_id bigint references shop.orders)');
    engine = createDataEngine({
      database: test.database,
      config: testConfig(),
      log: testLog,
      onCommitted: () => undefined,
    });
  });
  after(async () => {
    await app.end();
    await test.database.pool.query(`drop owned by ${appRole} cascade`).catch(() => undefined);
    await test.drop();
  });

  const adopt = (schema: string, name = schema): Promise<AdoptedTenant> =>
    adoptTenant(test.database.pool, { name, schema, rootLogin: 'root', rootPassword: 'correct horse' });
  const rootOf = async ({ tenantid, rootRoleid }: AdoptedTenant): Promise<Principal> =>
    (await new PrincipalSource(test.database.pool).load(tenantid, rootRoleid))!;
  const ask = async (tenant: AdoptedTenant, query: string): Promise<string> =>
    (await engine.execute(await rootOf(tenant), { query }, { allowMutation: true })).body;
  const failure = async (work: Promise<unknown>): Promise<{ code: string }> => {
    const error: unknown = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return error as { code: string };
  };
  const capture = async (tenant: AdoptedTenant, table: string): Promise<void> => {
    const catalog = await engine.introspect(tenant.tenantid, tenant.schema);
    const { tenantid } = tenant;
    await inTransaction(test.database.pool, (trx) =>
      captureTable(trx, test.database, { tenantid, catalog, table }, 'all'),
    );
  };
  /** What a dump of the schema would hold of owners, rights, triggers and functions. */
  const described = async (schema: string): Promise<string> => {
    const { rows } = await test.database.pool.query<{ line: string }>(
      `select concat_ws(' ', 'relation', c.relname, c.relkind, pg_get_userbyid(c.relowner),
           coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))::text, c.relrowsecurity) as line
         from pg_class c where relnamespace = $1::regnamespace
       union all select concat_ws(' ', 'schema', nspname, coalesce(nspacl, acldefault('n', nspowner))::text) from pg_namespace where oid = $1::regnamespace
       union all select concat_ws(' ', 'default', defaclrole::regrole, defaclobjtype, defaclacl::text) from pg_default_acl where defaclnamespace = $1::regnamespace
       union all select concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid)) from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = $1::regnamespace
       union all select concat_ws(' ', 'function', p.oid::regprocedure, proowner::regrole, proacl::text) from pg_proc p where pronamespace = $1::regnamespace
       union all select concat_ws(' ', 'type', typname, typowner::regrole, typacl::text) from pg_type where typnamespace = $1::regnamespace
       order by 1`,
      [schema],
    );
    return rows.map(({ line }) => line).join('\n');
  };

  it('takes no long name for the schema that PostgreSQL would shorten it to', async () => {
    const schema = 's'.repeat(63);
    await createTestTenant(test.database.pool, {
      name: 'long',
      schema,
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    expect(await failure(adopt(`${schema}s`, 'longer'))).to.include({ code: 'BAD_USER_INPUT' });
  });

  it("is refused if missing, a tenant's, or owned by PostgreSQL or the service", async () => {
    for (const schema of [
      'absent',
      'pg_catalog',
      'pg_toast',
      'information_schema',
      'rowpost',
      'rowpost_tenant',
      'bullmq',
    ]) {
      expect(await failure(adopt(schema)), schema).to.have.property('code', 'BAD_USER_INPUT');
    }
    const own = await createTestTenant(test.database.pool, {
      name: 'own',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    expect(await failure(adopt(own.schema, 'thief'))).to.have.property('code', 'NAME_TAKEN');
  });

  describe('without privileges of the service', () => {
    let tenant: AdoptedTenant;
    let found: string;

    it('is adopted with the statements printed for its owner', async () => {
      found = await described('shop');
      tenant = await adopt('shop');
      expect(tenant.left).to.include(
        `grant usage on schema shop to ${(await test.database.tenants.names()).tenant(tenant.tenantid)}`,
      );
      await app.query(tenant.left.join(';'));
      expect(await statementsToAdopt(test.database.pool, tenant)).to.deep.equal([]);
      expect(
        await ask(tenant, '{ customer(filter: "name = \'Ada\'") { name orders_collection { id } } }'),
      ).to.equal('{"data":{"customer":[{"name":"Ada","orders_collection":[]}]}}');
    });

    it('serves future tables, through default privileges', async () => {
      await app.query('create table shop.later (id serial primary key, word text)');
      await engine.introspect(tenant.tenantid, tenant.schema);
      expect(await ask(tenant, 'mutation { create_later(input: {word: "x"}) { id word } }')).to.equal(
        '{"data":{"create_later":{"id":"1","word":"x"}}}',
      );
      await app.query('drop table shop.later');
    });

    it('is not captured, and the error says what is missing', async () => {
      const error = await failure(capture(tenant, 'orders'));
      expect(error).to.include({ code: 'CAPTURE_DENIED' });
      expect(error)
        .to.have.property('hint')
        .that.matches(new RegExp(`grant "${appRole}" to `));
    });

    it('is released once its owner has revoked the grants', async () => {
      expect(
        await failure(inTransaction(test.database.pool, (tx) => deleteTenant(tx, tenant.tenantid))),
      ).to.have.property('code', 'PERMISSION_DENIED');
      await app.query((await statementsToRelease(test.database.pool, tenant)).join(';'));
      await inTransaction(test.database.pool, (tx) => deleteTenant(tx, tenant.tenantid));
      expect(await described('shop')).to.equal(found);
      const { rows } = await test.database.pool.query('select 1 from pg_roles where rolname = $1', [
        (await test.database.tenants.names()).tenant(tenant.tenantid),
      ]);
      expect(rows).to.deep.equal([]);
    });
  });

  describe('with the service as a member of its owner', () => {
    let crm: AdoptedTenant;
    let shop: AdoptedTenant;
    let found: string;

    before(async () => {
      await test.database.pool.query(`grant ${appRole} to current_user`);
      found = await described('crm');
      crm = await adopt('crm');
      shop = await adopt('shop');
    });

    it('is adopted in one step, as is another', () => {
      expect([crm.left, shop.left]).to.deep.equal([[], []]);
    });

    it('is served with views, partitions, inheritance, generated columns, domains and tables without a key', async () => {
      const catalog = await engine.introspect(crm.tenantid, 'crm');
      expect([...catalog.tables.keys()]).to.deep.equal([
        'customer',
        'hidden',
        'lead',
        'note',
        'orders',
        'paid',
        'special_customer',
        'visit',
      ]);
      expect(
        await ask(
          crm,
          'mutation { create_customer(input: {name: " Linus "}) { id name } create_orders(input: {customer_id: 1, total: 12.50}) { total doubled state } }',
        ),
      ).to.equal(
        '{"data":{"create_customer":{"id":"3","name":"Linus"},"create_orders":{"total":12.50,"doubled":25.00,"state":"open"}}}',
      );
      expect(await ask(crm, 'mutation { create_note(input: {body: "x"}) { body } }')).to.contain(
        'Cannot query field',
      );
      expect(catalog.problems).to.include(
        'lead: the foreign key lead_order_id_fkey leads to a table that is not served, and is left out',
      );
      expect(catalog.tables.get('lead')?.relations.size).to.equal(0);
    });

    it('keeps its row level security', async () => {
      expect(await ask(crm, '{ hidden { id } }')).to.equal('{"data":{"hidden":[{"id":"1"}]}}');
      expect(await ask(crm, 'mutation { create_hidden(input: {id: 3, owner: "me"}) { id } }'))
        .to.contain('PERMISSION_DENIED')
        .and.contain('Row level security of hidden refuses the row.');
    });

    it("runs the application's triggers, which name tables without the schema, and compares types of extensions in it", async () => {
      await app.query(`
        set search_path = crm;
        create extension citext schema crm;
        create table diary (id serial primary key, word citext);
        create function note_name() returns trigger language plpgsql as
          'begin insert into diary (word) values (new.name); return new; end';
        create trigger note_name after insert on customer for each row execute function note_name()`);
      await engine.introspect(crm.tenantid, 'crm');
      expect(await ask(crm, 'mutation { create_customer(input: {name: "Edsger"}) { name } }')).to.equal(
        '{"data":{"create_customer":{"name":"Edsger"}}}',
      );
      for (const filter of [`word = 'EDSGER'`, `word like 'edsg%'`, `not word like 'x%'`]) {
        expect(await ask(crm, `{ diary(filter: "${filter}") { word } }`), filter).to.equal(
          '{"data":{"diary":[{"word":"Edsger"}]}}',
        );
      }
      expect(await ask(crm, `{ diary(filter: "word not like 'edsg%'") { word } }`)).to.equal(
        '{"data":{"diary":[]}}',
      );
      await app.query(
        `delete from customer where name = 'Edsger'; drop function note_name cascade; drop table diary; drop extension citext`,
      );
    });

    it("has its owner's search_path with the schema in it, unless its role was given one", async () => {
      const { pool } = test.database;
      const { rows } = await pool.query<{ name: string }>('select current_database() as name');
      const here = `in database ${rows[0]!.name}`;
      const role = (await test.database.tenants.names()).tenant(crm.tenantid);
      const paths = async (): Promise<unknown> =>
        (
          await pool.query<{ path: string }>(
            `select unnest(setconfig) as path from pg_db_role_setting where setrole = $1::regrole`,
            [role],
          )
        ).rows.map(({ path }) => path);
      const settled = async (): Promise<unknown> => {
        await test.database.tenants.settle(crm.tenantid, 'crm');
        return paths();
      };
      expect(await paths()).to.deep.equal(['search_path=crm, "$user", public']);
      await pool.query(`alter role ${role} ${here} set search_path = crm, shared`);
      expect(await settled()).to.deep.equal(['search_path=crm, shared']);
      await app.query(`alter role ${appRole} set search_path = shop, "crm", extensions`);
      await pool.query(`alter role ${role} ${here} reset search_path`);
      expect(await settled()).to.deep.equal(['search_path=shop, crm, extensions']);
    });

    it('is served by dedicated connections, since its owner may add code at any time', () => {
      expect(test.database.tenants.loginOf(crm.tenantid)).to.equal(crm.tenantid);
    });

    it('records what the application writes', async () => {
      await capture(crm, 'orders');
      await app.query(`insert into crm.orders (customer_id, total) values (2, 1), (2, 2)`);
      await app.query('delete from crm.customer where id = 2');
      const { rows } = await test.database.pool.query(
        `select tenantid, operation, target, writer, application from rowpost.outbox where writer is not null order by eventid`,
      );
      const event = { tenantid: crm.tenantid, target: 'orders', writer: appRole, application: 'the app' };
      expect(rows).to.deep.equal([
        { ...event, operation: 'insert' },
        { ...event, operation: 'insert' },
        { ...event, operation: 'delete' },
        { ...event, operation: 'delete' },
      ]);
    });

    const denied: readonly (readonly [what: string, sql: string])[] = [
      ['reach the other schema', 'select * from shop.customer'],
      ['make tables in it', 'create table crm.mine (id int)'],
      ['change tables of it', 'alter table crm.customer add mine int'],
      ['put triggers on them', 'create trigger t after insert on crm.customer execute function crm.touch()'],
      ['drop the triggers that capture', 'drop trigger rowpost_capture_insert on crm.orders'],
      ['become its owner', 'set role '],
    ];
    for (const [what, sql] of denied) {
      it(`gives the tenant's role no way to ${what}`, async () => {
        const script = what === 'become its owner' ? `${sql}${appRole}` : sql;
        const error = await failure(runTenantSql(test.database, { tenantid: crm.tenantid, sql: script }));
        expect((error as unknown as { details: { sqlstate: string } }).details.sqlstate).to.equal('42501');
      });
    }

    it('causes a warning if every role may create objects in it', async () => {
      const { pool } = test.database;
      const warning = 'every role may make objects in it';
      expect((await adoptionWarnings(pool, 'crm')).join()).not.to.contain(warning);
      await app.query('grant create on schema crm to public');
      expect((await adoptionWarnings(pool, 'crm')).join()).to.contain(warning);
      expect(await statementsToAdopt(pool, crm)).to.deep.equal([]);
      await app.query('revoke create on schema crm from public');
    });

    it('is not dropped by a statement that only deletes the tenant', async () => {
      const { pool } = test.database;
      const error = await failure(
        pool.query('delete from rowpost.tenant where tenantid = $1', [crm.tenantid]),
      );
      expect(error).to.have.property('message').that.contains('rowpost tenant release');
    });

    it('is released unchanged', async () => {
      await inTransaction(test.database.pool, (tx) => deleteTenant(tx, crm.tenantid));
      expect(await described('crm')).to.equal(found);
      await app.query('insert into crm.orders (customer_id) values (1)');
      expect((await app.query('select count(*)::int as n from crm.customer')).rows).to.deep.equal([{ n: 2 }]);
      expect(await ask(shop, '{ customer(limit: 1) { name } }')).to.contain('Ada');
    });
  });

  it('is released under its new name, and with a table that was moved to another schema', async () => {
    const { pool } = test.database;
    await pool.query(
      `create schema moving; create schema archive;
       create table moving.kept (id int primary key); create table moving.moved (id int primary key)`,
    );
    const tenant = await adopt('moving');
    await capture(tenant, 'moved');
    await pool.query('alter table moving.moved set schema archive; alter schema moving rename to renamed');
    const statements = await statementsToRelease(pool, { tenantid: tenant.tenantid, schema: 'moving' });
    expect(statements.join('\n'))
      .to.contain('drop trigger if exists "rowpost_capture_insert" on "archive"."moved"')
      .and.contain('revoke all on schema renamed')
      .and.contain('revoke all on table archive.moved')
      .and.contain('revoke all on table renamed.kept');
    await inTransaction(test.database.pool, (tx) => deleteTenant(tx, tenant.tenantid));
    const { rows } = await pool.query(
      `select tgname from pg_trigger where tgrelid = 'archive.moved'::regclass and not tgisinternal`,
    );
    expect(rows).to.deep.equal([]);
    await pool.query('insert into archive.moved values (1); drop schema archive, renamed cascade');
  });

  it('may be public', async () => {
    const { pool } = test.database;
    await pool.query('create table public.thing (id int primary key)');
    const tenant = await adopt('public');
    expect(tenant.left).to.deep.equal([]);
    expect(await ask(tenant, 'mutation { create_thing(input: {id: 1}) { id } }')).to.equal(
      '{"data":{"create_thing":{"id":"1"}}}',
    );
    await inTransaction(test.database.pool, (tx) => deleteTenant(tx, tenant.tenantid));
    expect((await pool.query('select * from public.thing')).rows).to.deep.equal([{ id: 1 }]);
  });
});
