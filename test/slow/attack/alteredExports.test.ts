import { Readable } from 'node:stream';
import { expect } from 'chai';
import { ExportWriter, verifyExport, type Header } from '../../../src/control/tenants/exportFile.js';
import { exportTenant } from '../../../src/control/tenants/tenantExport.js';
import { importTenant } from '../../../src/control/tenants/tenantImport.js';
import { MOVING_TABLES } from '../../../src/control/tenants/tenantTables.js';
import { deleteTenant } from '../../../src/control/tenants/tenants.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { webhookSecretContext } from '../../../src/db/email/carrierWebhooks.js';
import { createTenantSchema, dropTenantSchema } from '../../../src/db/tenants/tenantStorage.js';
import { KeyRing } from '../../../src/config/secrets.js';
import { testConfig, testKeyRing } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { generator, testSeed } from '../../support/randomNumbers.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

// Of another installation's range.
const TENANT = 20_000_500;
const SCHEMA = 'arriving';
const FOREIGN = KeyRing.parse(`theirs:${Buffer.alloc(32, 9).toString('base64')}`);
const CASES = Number(process.env['EXPORT_CASES'] ?? 120);
const SEED = testSeed();

/** What a tenant of another installation has: a row in every table. */
const ROWS: Readonly<Record<string, readonly object[]>> = {
  tenant: [
    {
      tenantid: TENANT,
      name: 'arriving',
      schema: SCHEMA,
      root_roleid: 20_000_501,
      anonymous_logins: false,
      policy_version: 1,
      createtime: '2026-01-01',
      adopted: false,
      suspended: true,
      moved_to: null,
      move: 0,
    },
  ],
  sign_in_brand: [{ tenantid: TENANT, name: 'Shop', color: '#2f55d4', logo: null }],
  password_sender: [{ tenantid: TENANT, sender: 'Shop <accounts@shop.example>' }],
  role_class: [
    {
      classid: 20_000_500,
      tenantid: TENANT,
      name: 'staff',
      inherit: 'none',
      creatorid: 20_000_501,
      createtime: '2026-01-01',
      allow_signup: false,
      capabilities: ['view_delivery'],
    },
  ],
  role: [20_000_501, 20_000_502].map((roleid) => ({
    roleid,
    tenantid: TENANT,
    login: `role ${roleid}`,
    name: null,
    password_hash: null,
    parentid: roleid === 20_000_501 ? null : 20_000_501,
    classes: [20_000_500],
    capabilities: ['login'],
    deleted: false,
    tokens_valid_from: '2026-01-01',
    creatorid: null,
    createtime: '2026-01-01',
    password_createtime: null,
    password_setby: null,
    read_replica: false,
    restored: '-infinity',
  })),
  policy_rule: [
    {
      ruleid: 20_000_500,
      tenantid: TENANT,
      name: 'own',
      capabilities: ['select'],
      targets: ['orders'],
      roles: [20_000_502],
      classes: [20_000_500],
      filter: null,
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  oidc_providers: [
    {
      providerid: 20_000_500,
      tenantid: TENANT,
      name: 'theirs',
      auth_uri: 'https://id.example.com/a',
      token_uri: 'https://id.example.com/t',
      jwks_uri: 'https://id.example.com/j',
      issuer: null,
      comparison_field: 'sub',
      creatorid: null,
      createtime: '2026-01-01',
      email_always_verified: false,
      discovered_issuer: null,
    },
  ],
  oidc_config: [
    {
      confid: 20_000_500,
      tenantid: TENANT,
      providerid: 20_000_500,
      client_id: 'client',
      client_secret_encrypted: FOREIGN.encrypt('theirs', 'oidc_config:20000500'),
      client_secret_uuid: 'b0000000-0000-4000-8000-000000000000',
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  oidc_key: [
    {
      kid: 'a',
      tenantid: TENANT,
      confid: 20_000_500,
      public_jwk: {},
      private_jwk_encrypted: FOREIGN.encrypt('theirs', 'oidc_key:a'),
      jwks_uri: `/oidc/20000500/jwks?tenantid=${TENANT}`,
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  oidc_provisioning: [
    {
      confid: 20_000_500,
      tenantid: TENANT,
      parentid: 20_000_502,
      capabilities: ['login'],
      classes: [20_000_500],
      name: '{{ claims.name }}',
      login: null,
      scope: null,
      email_domains: ['example.com'],
      required_claim: null,
      required_value: null,
      seats: 10,
      link_by_email: false,
      groups_claim: 'groups',
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  oidc_group_class: [
    {
      confid: 20_000_500,
      group_name: 'staff',
      classid: 20_000_500,
      tenantid: TENANT,
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  role_oidc: [
    {
      roleid: 20_000_502,
      confid: 20_000_500,
      tenantid: TENANT,
      sub_id: 'someone',
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  role_oidc_class: [{ roleid: 20_000_502, confid: 20_000_500, classid: 20_000_500, tenantid: TENANT }],
  email_layouts: [
    {
      tenantid: TENANT,
      name: 'base',
      template: '{{ body }}',
      layout_names: [],
      any_layout: false,
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  email_types: [
    {
      tenantid: TENANT,
      email_type: 'paid',
      template: '<p>Paid</p>',
      subject: 'Paid',
      recipients: ['a@example.com'],
      sender: 'a@example.com',
      queries: [],
      options: {},
      syntax: 'jinja2',
      creatorid: 20_000_501,
      createtime: '2026-01-01',
      attachments: [],
      text: null,
      preheader: null,
      reply_to: null,
      headers: {},
      categories: [],
      layout_names: [],
      any_layout: false,
      version: 1,
      undefined: 'lenient',
      unsubscribe: 'none',
      locale: null,
    },
  ],
  email_type_version: [
    {
      tenantid: TENANT,
      email_type: 'paid',
      version: 1,
      content: {},
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  email_rule: [
    {
      ruleid: 20_000_500,
      tenantid: TENANT,
      name: 'paid',
      operations: ['insert'],
      targets: ['orders'],
      email_type: 'paid',
      query_roleid: 20_000_502,
      condition: null,
      enabled: true,
      delivery: 'at_least_once',
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  email_apikey: [
    {
      tenantid: TENANT,
      apikey_encrypted: '',
      version: 1,
      paused_code: null,
      paused_reason: null,
      set_by: 20_000_501,
      set_time: '2026-01-01',
      wait_until: null,
      accounts_encrypted: null,
    },
  ],
  carrier_webhook: [
    {
      tenantid: TENANT,
      kind: 'mailgun',
      secret_encrypted: FOREIGN.encrypt('x', webhookSecretContext(TENANT, 'mailgun')),
      set_by: 20_000_501,
      set_time: '2026-01-01',
    },
  ],
  email_webhook_key: [
    { tenantid: TENANT, verification_key: 'key', set_by: 20_000_501, set_time: '2026-01-01' },
  ],
  webhook_token: [{ tenantid: TENANT, token: 'token', report: 'report', createtime: '2026-01-01' }],
  email_suppression: [
    {
      tenantid: TENANT,
      address: 'gone@example.com',
      reason: null,
      source: 'manual',
      deliveryid: null,
      creatorid: 20_000_501,
      createtime: '2026-01-01',
      removetime: null,
    },
  ],
  email_unsubscribe: [
    {
      tenantid: TENANT,
      address: 'no@example.com',
      email_types: [],
      all_types: true,
      source: 'manual',
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  captured_table: [{ tenantid: TENANT, table_name: 'orders' }],
  capture_gap: [{ tenantid: TENANT, table_name: 'orders', since: null, until: '2026-01-01' }],
  file_table: [
    {
      tenantid: TENANT,
      table_name: 'orders',
      column_name: 'files',
      creatorid: 20_000_501,
      createtime: '2026-01-01',
    },
  ],
  file: [
    {
      storagekey: 'f0000000-0000-4000-8000-000000000000',
      tenantid: TENANT,
      target: 'orders',
      key: { id: 1 },
      filenum: 1,
      filename: 'a.txt',
      mimetype: 'text/plain',
      size: 3,
      sha256: '\\x00',
      objectkey: `${TENANT}/0a/0a000000-0000-4000-8000-000000000000`,
      roleid: 20_000_501,
      createtime: '2026-01-01',
      rowless_since: null,
    },
  ],
  ended_session: [{ token_hash: '\\x02', tenantid: TENANT, expires: '2100-01-01' }],
  sign_in_event: [
    {
      eventid: 'd0000000-0000-4000-8000-000000000000',
      tenantid: TENANT,
      slot: '2026-01-01',
      time: '2026-01-01',
      last_time: '2026-01-01',
      count: 1,
      kind: 'signed_in',
      roleid: 20_000_502,
      confid: 20_000_500,
      provider: 'p',
      reason: null,
      address: '192.0.2.1',
      actorid: null,
    },
  ],
  api_key: [
    {
      keyid: 'd2000000-0000-4000-8000-000000000000',
      tenantid: TENANT,
      roleid: 20_000_502,
      name: 'k',
      key_hash: `\\x${'00'.repeat(32)}`,
      hint: 'rowpost_…',
      capabilities: null,
      state_ms: 0,
      expires: null,
      last_used: null,
      creatorid: null,
      createtime: '2026-01-01',
    },
  ],
  audit_event: [
    {
      eventid: 'd1000000-0000-4000-8000-000000000000',
      tenantid: TENANT,
      time: '2026-01-01',
      roleid: 20_000_502,
      login: 'someone',
      actors: [],
      keyid: null,
      object: 'role',
      key: '1',
      operation: 'update',
      changes: [],
    },
  ],
  session: [
    {
      sessionid: 'e0000000-0000-4000-8000-000000000000',
      tenantid: TENANT,
      roleid: 20_000_502,
      is_console: false,
      confid: 20_000_500,
      since: '2026-01-01',
      last_used: '2026-01-01',
      browser: 'Firefox',
      address: '192.0.2.1',
      state_ms: 0,
      expires: '2100-01-01',
      ended: null,
    },
  ],
  idempotency_key: [
    {
      tenantid: TENANT,
      roleid: 20_000_501,
      client: '',
      bytes: 2,
      key: 'k',
      request_hash: '\\x01',
      response: '{}',
      createtime: '2026-01-01',
    },
  ],
};

const HOSTILE: readonly unknown[] = [
  null,
  0,
  -1,
  1,
  2,
  3,
  20_000_501,
  2_147_483_647,
  2 ** 63,
  1e308,
  '1',
  '20000501',
  '',
  'rowpost',
  'rowpost_tenant',
  'bullmq',
  'public',
  'pg_catalog',
  'information_schema',
  'victims',
  '../../etc/passwd',
  '1/0a/0a000000-0000-4000-8000-000000000000',
  '__proto__',
  'constructor',
  'toString',
  'admin',
  "'; drop schema rowpost cascade; --",
  '\u0000',
  'x\ny',
  'x'.repeat(300_000),
  [],
  {},
  [1],
  [2, 1],
  ['admin'],
  [null],
  [[1]],
  { __proto__: { a: 1 } },
  true,
  'scrypt$30$8$1$AAAA$AAAA',
  'http://localhost/',
  'javascript:alert(1)',
  '2026-99-99',
  'infinity',
];

type Rows = readonly (readonly [table: string, row: Readonly<Record<string, unknown>>])[];
const WHOLE: Rows = MOVING_TABLES.flatMap(({ table }) =>
  (ROWS[table] ?? []).map((row) => [table, row as Readonly<Record<string, unknown>>] as const),
);

describe('attack: an export is altered, so that its import gives a tenant more than its own', function () {
  let test: TestDatabase;
  let header: Header;
  let unchanged: string;

  before(async () => {
    test = await createTestDatabase();
    const { pool } = test.database;
    const victim = await createTestTenant(pool, {
      name: 'victim',
      rootLogin: 'root',
      rootPassword: 'correct horse',
      schema: 'victims',
    });
    const { rows } = await pool.query<{ name: string }>('select max(name) as name from rowpost.migration');
    header = {
      format: 'rowpost tenant 2',
      tenantid: TENANT,
      name: 'arriving',
      schema: SCHEMA,
      adopted: false,
      suspended: true,
      migration: rows[0]!.name,
    };
    // The victim has what a row of the attacker's may refer to.
    await pool.query(`insert into rowpost.role_class (tenantid, name) values (${victim.tenantid}, 'staff')`);
    await inTransaction(pool, (trx) => createTenantSchema(trx, TENANT, SCHEMA));
    unchanged = await stateOf(test);
  });
  after(() => test.drop());

  /** @returns undefined if it was imported; then the tenant is removed again, and its schema made anew */
  const importing = async (changed: Header, rows: Rows, isForeign = true): Promise<string | undefined> => {
    const lines: string[] = [];
    const writer = new ExportWriter((line) => Promise.resolve(void lines.push(line)));
    await writer.header(changed);
    for (const [table, row] of rows) await writer.row(table, JSON.stringify(row));
    await writer.end(FOREIGN, { tables: null, triggers: [] });
    return importingLines(lines, isForeign);
  };
  const importingLines = async (
    lines: readonly string[],
    isForeign: boolean,
  ): Promise<string | undefined> => {
    const openLines = (): Readable => Readable.from(lines);
    try {
      const verified = await verifyExport({
        openLines,
        signers: isForeign ? [testKeyRing, FOREIGN] : [testKeyRing],
      });
      await importTenant(test.database, {
        verified,
        openLines,
        keys: { from: FOREIGN, to: testKeyRing },
        rules: testConfig(),
        isForeign,
      });
    } catch (error) {
      if ((error as Error).name !== 'UsageError' && (error as Error).name !== 'AppError') throw error;
      return (error as Error).message;
    }
    const { pool } = test.database;
    await pool.query('delete from rowpost.file where tenantid = $1', [TENANT]);
    await inTransaction(pool, (tx) => deleteTenant(tx, TENANT));
    // What it owns goes with its role.
    await pool.query(`drop schema if exists ${SCHEMA}`);
    await inTransaction(pool, (trx) => createTenantSchema(trx, TENANT, SCHEMA));
    return undefined;
  };

  it('is imported unchanged, so that the rest shows something', async () => {
    expect(Object.keys(ROWS).sort()).to.deep.equal(MOVING_TABLES.map(({ table }) => table).sort());
    expect(await importing(header, WHOLE)).to.equal(undefined);
    expect(await stateOf(test)).to.equal(unchanged);
  });

  for (const schema of [
    'rowpost',
    'rowpost_tenant',
    'bullmq',
    'public',
    'pg_catalog',
    'information_schema',
    'victims',
  ]) {
    for (const adopted of [false, true]) {
      it(`by the schema "${schema}"${adopted ? ', as adopted' : ''}`, async () => {
        const rows = WHOLE.map(
          ([table, row]) => [table, table === 'tenant' ? { ...row, schema, adopted } : row] as const,
        );
        const refusal = await importing({ ...header, schema, adopted }, rows);
        // An operator may adopt `public`, and has to name it: that is the command's to ask.
        if (schema !== 'public' || !adopted) expect(refusal).to.be.a('string');
        expect(await importing(header, rows)).to.be.a('string');
        expect(await stateOf(test)).to.equal(unchanged);
      });
    }
  }

  it('by any change of a signed file', async () => {
    const lines: string[] = [];
    const { pool } = test.database;
    const made = await createTestTenant(pool, {
      name: 'signed',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await exportTenant(pool, { tenantid: made.tenantid, keyRing: testKeyRing }, (line) =>
      Promise.resolve(void lines.push(line)),
    );
    await inTransaction(pool, async (trx) => {
      await trx.query('delete from rowpost.tenant where tenantid = $1', [made.tenantid]);
      await dropTenantSchema(trx, made.tenantid, made.schema);
    });
    for (const [index, line] of lines.entries()) {
      for (const changed of [
        line.replace(/\d/, (digit) => String((Number(digit) + 1) % 10)),
        ` ${line}`,
        '',
      ]) {
        if (changed === line) continue;
        expect(await importingLines(lines.toSpliced(index, 1, changed), true), changed).to.be.a('string');
      }
      expect(await importingLines(lines.toSpliced(index, 1), true), `without ${line}`).to.be.a('string');
      expect(await importingLines(lines.toSpliced(index, 0, line), true), `twice ${line}`).to.be.a('string');
    }
  });

  it(`by ${CASES} changes of single values, of seed ${SEED}`, async () => {
    const next = generator(SEED);
    const pick = <T>(items: readonly T[]): T => items[next(items.length)]!;
    const failures: string[] = [];
    for (let i = 0; i < CASES; i++) {
      const index = next(WHOLE.length);
      const [table, row] = WHOLE[index]!;
      const field = pick([...Object.keys(row), '__proto__', 'constructor', 'tenantid', 'unknown']);
      const value = pick(HOSTILE);
      const changed =
        next(10) === 0
          ? without(row, field)
          : (JSON.parse(
              JSON.stringify({ ...row }).replace(/}$/, `,${JSON.stringify(field)}:${JSON.stringify(value)}}`),
            ) as typeof row);
      const kind = next(20);
      const rows: Rows =
        kind === 0
          ? [...WHOLE, WHOLE[index]!]
          : kind === 1
            ? WHOLE.toSpliced(index, 1)
            : WHOLE.toSpliced(index, 1, [table, changed]);
      const what = `${table}.${field} = ${JSON.stringify(value).slice(0, 60)}`;
      await importing(header, rows).catch((error: unknown) => failures.push(`${what}: ${String(error)}`));
      if ((await stateOf(test)) !== unchanged) throw new Error(`the control schema changed: ${what}`);
    }
    expect(failures).to.deep.equal([]);
  });

  it(`by changes of the header`, async () => {
    for (const field of Object.keys(header)) {
      for (const value of HOSTILE) {
        const changed = { ...header, [field]: value };
        if (JSON.stringify(changed) === JSON.stringify(header)) continue;
        expect(await importing(changed, WHOLE), `${field} = ${JSON.stringify(value).slice(0, 60)}`).to.be.a(
          'string',
        );
      }
    }
    expect(await stateOf(test)).to.equal(unchanged);
  });
});

function without(row: Readonly<Record<string, unknown>>, field: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== field));
}

/** Owners and rights of the service's objects and everyone's roles, and the rows of everybody else. */
async function stateOf({ database: { pool } }: TestDatabase): Promise<string> {
  const { rows } = await pool.query<{ state: string }>(`select concat_ws('|',
    (select string_agg(concat(nspname, nspowner::regrole, nspacl), ',' order by nspname) from pg_namespace where nspname not like 'pg_%'),
    (select md5(string_agg(concat(oid::regclass, relowner::regrole, relacl), ',' order by oid)) from pg_class
      where relnamespace in ('rowpost'::regnamespace, 'rowpost_tenant'::regnamespace)),
    (select md5(string_agg(concat(oid, proowner::regrole, proacl), ',' order by oid)) from pg_proc
      where pronamespace in ('rowpost'::regnamespace, 'rowpost_tenant'::regnamespace) and proname <> 'row_json'),
    ${['tenant', 'role', 'role_class', 'policy_rule', 'oidc_config', 'email_rule', 'file']
      .map(
        (table) =>
          `(select md5(string_agg(t::text, ',' order by t::text)) from rowpost.${table} t where tenantid <> ${TENANT})`,
      )
      .join(', ')}) as state`);
  return rows[0]!.state;
}
