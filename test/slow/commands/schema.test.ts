import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { codegen } from '@graphql-codegen/core';
import * as typescriptPlugin from '@graphql-codegen/typescript';
import * as operationsPlugin from '@graphql-codegen/typescript-operations';
import { expect } from 'chai';
import { buildSchema, parse } from 'graphql';
import ts from 'typescript';
import { schema } from '../../../src/commands/schema.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { capturedOutput } from '../../support/capturedOutput.js';
import { testEnv } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const TABLES = `
  create table customer (customer_id int primary key, name text not null);
  create table "order" (order_id bigint primary key, customer_id int references customer, total numeric(12,2));
  create table secret (secret_id int primary key);`;
const NODE_MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

describe('rowpost schema', () => {
  let testDatabase: TestDatabase;
  let tenantid: number;
  let roleid: number;
  let environment: NodeJS.ProcessEnv;

  before(async () => {
    testDatabase = await createTestDatabase();
    const { database } = testDatabase;
    const tenant = await createTestTenant(database.pool, {
      name: 'shop',
      rootLogin: 'root',
      rootPassword: 'correct horse battery',
    });
    ({ tenantid } = tenant);
    await runTenantSql(database, { tenantid, sql: TABLES });
    const { rows } = await database.pool.query<{ roleid: number }>(
      `insert into rowpost.role (tenantid, login, name, parentid, creatorid, capabilities)
       values ($1, 'clerk', 'clerk', $2, $2, '{login,select}') returning roleid`,
      [tenantid, tenant.rootRoleid],
    );
    ({ roleid } = rows[0]!);
    environment = { ...process.env };
    Object.assign(process.env, testEnv({ DATABASE_URL: testDatabase.url }));
  });
  after(async () => {
    process.env = environment;
    await testDatabase.drop();
  });

  const printed = (...args: string[]): Promise<string> => capturedOutput(() => schema(args));

  it('prints the schema of the tenant, and that of /roles_pbac', async () => {
    const tables = buildSchema(await printed('--tenant', String(tenantid)));
    expect(Object.keys(tables.getQueryType()!.getFields())).to.include.members([
      'customer',
      'order',
      'secret',
    ]);
    expect(await printed('--tenant', String(tenantid), '--role', String(roleid))).to.include('type customer');
    const control = buildSchema(await printed('--endpoint', 'roles_pbac'));
    expect(Object.keys(control.getMutationType()!.getFields())).to.include('create_tenant');
  });

  it('fails for unknown tenants and roles, and for conflicting options', async () => {
    for (const [args, message] of [
      [[], /--tenant/],
      [['--tenant', '2147483647'], /tenant 2147483647/],
      [['--tenant', String(tenantid), '--role', '2147483647'], /has no role 2147483647/],
      [['--endpoint', 'graphql'], /--endpoint takes/],
      [['--endpoint', 'roles_pbac', '--tenant', '1'], /same for all/],
    ] as const) {
      const error = await schema(args).then(
        () => undefined,
        (cause: unknown) => cause as Error,
      );
      expect(error?.message, args.join(' ')).to.match(message);
    }
  });

  it('is accepted by a client code generator', async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-schema-'));
    try {
      const document = parse(`query Orders($filter: String) {
        order(filter: $filter) { order_id total customer { name } }
      }`);
      const types = await codegen({
        filename: 'rowpost.ts',
        schema: parse(await printed('--tenant', String(tenantid))),
        documents: [{ document }],
        config: {},
        plugins: [{ typescript: {} }, { operations: {} }],
        pluginMap: { typescript: typescriptPlugin, operations: operationsPlugin },
      });
      await writeFile(path.join(folder, 'rowpost.ts'), types);
      await symlink(NODE_MODULES, path.join(folder, 'node_modules'));
      expect(
        await problemsOf(
          folder,
          'const name: string | null | undefined = response.order?.[0]?.customer?.name;',
        ),
      ).to.equal('');
      expect(await problemsOf(folder, 'const name = response.order?.[0]?.email;')).to.match(/email/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

/** What the compiler says of a client that uses the generated types. */
async function problemsOf(folder: string, use: string): Promise<string> {
  const client = path.join(folder, 'client.ts');
  await writeFile(
    client,
    `import type { OrdersQuery } from './rowpost';\nexport function read(response: OrdersQuery) { ${use} return name; }\n`,
  );
  const program = ts.createProgram([client], {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2022,
  });
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
    .join('\n');
}
