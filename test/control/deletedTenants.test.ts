import { Readable } from 'node:stream';
import { expect } from 'chai';
import { exportTenant } from '../../src/control/tenants/tenantExport.js';
import { importTenant } from '../../src/control/tenants/tenantImport.js';
import { verifyExport } from '../../src/control/tenants/exportFile.js';
import { deleteTenant } from '../../src/control/tenants/tenants.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';
import { createTenantSchema } from '../../src/db/tenants/tenantStorage.js';
import { deleteRowsOfDeleted, LEFT_TABLES } from '../../src/db/tenants/rowsOfDeleted.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { knexOf } from '../support/knexOf.js';
import { testKeyRing } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** Rows of a tenant in each table that the relay empties. */
const FILL: Readonly<Record<string, (tenantid: number, index: number) => object>> = {
  sent_mail: (tenantid, deliveryid) => ({
    tenantid,
    deliveryid,
    attempt: 1,
    email: Buffer.from('x'),
    createtime: new Date(),
  }),
  idempotency_key: (tenantid, index) => ({ tenantid, roleid: 1, key: `key ${index}`, request_hash: 'x' }),
  email_suppression: (tenantid, index) => ({
    tenantid,
    address: `ada${index}@example.com`,
    source: 'bounce',
  }),
  email_unsubscribe: (tenantid, index) => ({ tenantid, address: `ada${index}@example.com`, source: 'link' }),
  sign_in_event: (tenantid, index) => ({
    tenantid,
    slot: new Date(),
    kind: 'refused',
    address: `192.0.2.${index}`,
  }),
  audit_event: (tenantid) => ({ tenantid, roleid: 1, object: 'role', operation: 'update' }),
};

/** Tables whose rows are deleted in the transaction that deletes their tenant, by what bounds their number. */
const BOUNDED: Readonly<Record<string, readonly string[]>> = {
  'one of a tenant': [
    'email_apikey',
    'email_pace',
    'email_webhook_key',
    'password_sender',
    'sign_in_brand',
    'tenant',
    'tenant_access',
    'write_hold',
  ],
  'one of a carrier': ['carrier_webhook'],
  'a quota': [
    'api_key', // of a role
    'email_rule',
    'oidc_key', // of a configuration
    'policy_rule',
    'delivery_count_by_type', // of the rules and hours
  ],
  'tables of the schema': ['captured_table', 'file_table'],
  'a day or two': ['email_event_quota'],
  'hours, and few kinds': ['delivery_count', 'delivery_count_by_wait'],
  'what administrators set up, each by a mutation of its own': [
    'email_layouts',
    'email_type_version', // 100 of a type
    'email_types',
    'oidc_config',
    'oidc_group_class',
    'oidc_providers',
    'oidc_provisioning',
    'role_class',
  ],
  'people, each by a mutation or sign-in of its own': ['invitation', 'role', 'role_oidc', 'role_oidc_class'],
  'how long they are kept, and how fast single requests or attempts make them': [
    'capture_gap',
    'ended_session',
    'password_reset',
    'mailbox',
    'oidc_logout',
    'oidc_sign_in',
    'session',
    'webhook_token',
  ],
};

describe('deleted tenants', () => {
  let test: TestDatabase;

  before(async () => {
    test = await createTestDatabase();
  });
  after(() => test.drop());

  const createTenant = (name: string) =>
    createTestTenant(test.database.pool, { name, rootLogin: 'root', rootPassword: 'correct horse' });
  const remove = (tenantid: number) => inTransaction(test.database.pool, (tx) => deleteTenant(tx, tenantid));
  const fill = (table: string, tenantid: number, count = 5) =>
    knexOf(test.database)(`rowpost.${table}`).insert(
      Array.from({ length: count }, (_, index) => FILL[table]!(tenantid, index)),
    );
  const rowsOf = async (table: string, tenantid: number): Promise<number> =>
    (await knexOf(test.database)(`rowpost.${table}`).where({ tenantid })).length;

  for (const left of LEFT_TABLES) {
    it(`leave ${left.table}, which the relay deletes in parts, and no other tenant's`, async () => {
      const { ledger } = test.database;
      const [before, gone, after] = [
        await createTenant('before'),
        await createTenant('gone'),
        await createTenant('after'),
      ];
      for (const { tenantid } of [before, gone, after]) await fill(left.table, tenantid);
      expect(await deleteRowsOfDeleted(ledger, left, 100)).to.equal(0);
      await remove(gone.tenantid);
      expect(await rowsOf(left.table, gone.tenantid)).to.equal(5);
      const deleted = [];
      for (let i = 0; i < 3; i++) deleted.push(await deleteRowsOfDeleted(ledger, left, 3));
      expect(deleted).to.deep.equal([3, 2, 0]);
      for (const { tenantid } of [before, after]) {
        expect(await rowsOf(left.table, tenantid)).to.equal(5);
        await remove(tenantid);
      }
      // Of both, by two relays at once.
      await Promise.all([1, 2].map(() => deleteRowsOfDeleted(ledger, left, 100)));
      await deleteRowsOfDeleted(ledger, left, 100);
      expect(
        (await rowsOf(left.table, before.tenantid)) + (await rowsOf(left.table, after.tenantid)),
      ).to.equal(0);
    });
  }

  it('come back by an import before their rows are deleted, and have those of the import', async () => {
    const { pool } = test.database;
    const { tenantid, schema } = await createTenant('back');
    await fill('idempotency_key', tenantid, 2);
    const lines: string[] = [];
    await exportTenant(pool, { tenantid, keyRing: testKeyRing }, (line) =>
      Promise.resolve(void lines.push(line)),
    );
    await fill('idempotency_key', tenantid, 5).onConflict().ignore();
    await remove(tenantid);
    await inTransaction(pool, (tx) => createTenantSchema(tx, tenantid, schema));
    const openLines = (): Readable => Readable.from(lines);
    const verified = await verifyExport({ openLines, signers: [testKeyRing] });
    const keys = { from: testKeyRing, to: testKeyRing };
    await importTenant(test.database, { verified, openLines, keys, isForeign: false });
    expect(await rowsOf('idempotency_key', tenantid)).to.equal(2);
  });

  it('may have more roles than one statement could delete, whoever is above whom', async () => {
    const { pool } = test.database;
    const { tenantid, rootRoleid } = await createTenant('crowded');
    const other = await createTenant('other');
    await pool.query(
      `with made as (insert into rowpost.role (tenantid, name)
         select $1, 'role ' || n from generate_series(1, 25000) n returning roleid)
       insert into rowpost.session (tenantid, roleid, browser, address, state_ms, expires)
         select $1, roleid, '', '', 0, now() from made`,
      [tenantid],
    );
    // Some are below older roles, others below newer ones.
    await pool.query(
      `update rowpost.role r set parentid = case
          when exists (select from rowpost.role x where x.roleid = r.roleid + 1 and x.tenantid = $1 and r.roleid % 3 = 0)
          then r.roleid + 1 else $2 end
        where tenantid = $1 and roleid <> $2 and roleid % 3 <> 1`,
      [tenantid, rootRoleid],
    );
    await knexOf(test.database)('rowpost.email_types').insert({
      tenantid,
      email_type: 'welcome',
      template: 'Welcome',
      subject: 'Welcome',
      recipients: '[]',
      sender: 'shop@example.com',
    });
    await knexOf(test.database)('rowpost.email_rule').insert({
      tenantid,
      name: 'welcome',
      email_type: 'welcome',
      targets: ['note'],
      operations: ['insert'],
      query_roleid: rootRoleid,
    });
    await pool.query(
      `analyze rowpost.role, rowpost.session;
       create table public.deleted_together (roles int);
       create function public.note_deleted() returns trigger language plpgsql as $$
         begin insert into public.deleted_together select count(*) from gone; return null; end $$;
       create trigger note_deleted after delete on rowpost.role
         referencing old table as gone for each statement execute function public.note_deleted()`,
    );
    await remove(tenantid);
    const { rows } = await pool.query<{ most: number; all: number }>(
      'select max(roles) as most, sum(roles)::int as all from public.deleted_together',
    );
    expect(rows).to.deep.equal([{ most: 10_000, all: 25_001 }]);
    for (const table of ['tenant', 'role', 'session', 'email_rule']) {
      expect(await rowsOf(table, tenantid), table).to.equal(0);
    }
    expect(await rowsOf('role', other.tenantid)).to.equal(1);
  });

  it('are deleted with the rows of tables that have a bound, and of no others', async () => {
    const { rows } = await test.database.pool.query<{ table: string }>(
      `select distinct c.relname as table from pg_constraint f join pg_class c on c.oid = f.conrelid
       where f.contype = 'f' and f.confdeltype <> 'a' and c.relnamespace = 'rowpost'::regnamespace`,
    );
    expect(rows.map(({ table }) => table)).to.have.members(Object.values(BOUNDED).flat());
  });
});
