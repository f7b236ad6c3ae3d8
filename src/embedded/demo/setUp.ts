import { createHash } from 'node:crypto';
import { ownValue } from '../../foundation/ownValue.js';
import { signIn, type Client } from './client.js';
import { EMAIL_SETTINGS } from './emailSettings.js';
import { REGULARS, SHOP_SQL, SHOP_TABLES } from './shop.js';
import type { Narrator } from './narrator.js';

/** What the demo needs of a running Rowpost. */
export interface RunningService {
  readonly baseUrl: string;
  readonly pxadminPassword: string;
  /** Creates tables, which needs SQL rather than HTTP: `rowpost tenant sql`. */
  runTenantSql(tenantid: number, sql: string): Promise<void>;
}

/** The demo's tenant and its root role, signed in. */
export interface DemoTenant {
  readonly tenantid: number;
  readonly login: string;
  readonly password: string;
  readonly root: Client;
}

const TENANT_NAME = 'Paper & Ink';
const ROOT_LOGIN = 'shop';
const MAILER_CAPABILITIES = ['select', 'download'];

/** Creates whatever an earlier run has not: tenant, tables, customers, a role for the emails' queries, email settings. */
export async function setUp(service: RunningService, narrator: Narrator): Promise<DemoTenant> {
  const tenant = await openTenant(service, narrator);
  await service.runTenantSql(tenant.tenantid, SHOP_SQL);
  await tenant.root.rolesPbac('{ Utility { introspect } }');
  narrator.done(`tables ${SHOP_TABLES.join(', ')}, made with SQL`);
  await tenant.root.rolesPbac(
    'mutation { Utility { set_file_table(table_name: "orders", column_name: "invoice") { table_name } } }',
  );
  narrator.done('orders may have files: their invoices');
  await addCustomers(tenant.root, narrator);
  const mailerRoleid = await ensureMailer(tenant.root, narrator);
  await ensureEmailSettings(tenant.root, mailerRoleid, narrator);
  return tenant;
}

async function openTenant(service: RunningService, narrator: Narrator): Promise<DemoTenant> {
  const { baseUrl, pxadminPassword } = service;
  const pxadmin = await signIn(baseUrl, { login: 'pxadmin', password: pxadminPassword, tenantid: 0 });
  narrator.done('signed in as pxadmin');
  const password = rootPassword(pxadminPassword);
  const existing = await findTenant(pxadmin);
  const tenantid =
    existing ??
    (await create(pxadmin, 'tenant', 'tenantid', {
      name: TENANT_NAME,
      root_login: ROOT_LOGIN,
      root_password: password,
    }));
  const root = await signIn(baseUrl, { login: ROOT_LOGIN, password, tenantid: Number(tenantid) });
  narrator.done(
    `tenant “${TENANT_NAME}” ${existing === undefined ? 'created' : 'kept from an earlier start'}`,
  );
  return { tenantid: Number(tenantid), login: ROOT_LOGIN, password, root };
}

async function findTenant(pxadmin: Client): Promise<number | string | undefined> {
  const { tenant } = await pxadmin.rolesPbac<{ tenant: { tenantid: number | string }[] }>(
    'query ($filter: String) { tenant(filter: $filter) { tenantid } }',
    { filter: `name = '${TENANT_NAME}'` },
  );
  return tenant[0]?.tenantid;
}

/** The same on every start without being stored, and only derivable from pxadmin's. */
function rootPassword(pxadminPassword: string): string {
  return createHash('sha256').update(`demo shop:${pxadminPassword}`).digest('base64url').slice(0, 16);
}

async function addCustomers(root: Client, narrator: Narrator): Promise<void> {
  const { customers } = await root.query<{ customers: { email: string }[] }>('{ customers { email } }');
  const known = new Set(customers.map((customer) => customer.email));
  for (const customer of REGULARS.filter((regular) => !known.has(regular.email))) {
    await root.query(
      'mutation ($input: customersInput) { create_customers(input: $input) { customer_id } }',
      {
        input: customer,
      },
    );
  }
  narrator.done(`customers ${REGULARS.map((customer) => customer.name).join(', ')}`);
}

/** The emails' queries run as a role that may only read the shop's tables. @returns its roleid */
async function ensureMailer(root: Client, narrator: Narrator): Promise<number> {
  const { role } = await root.rolesPbac<{ role: { roleid: string }[] }>(
    `{ role(filter: "login = 'mailer' and deleted = false") { roleid } }`,
  );
  const mailer = { login: 'mailer', name: 'Reads for the emails', capabilities: MAILER_CAPABILITIES };
  const roleid = Number(role[0]?.roleid ?? (await create(root, 'role', 'roleid', mailer)));
  await ensureRule(root, {
    name: 'the mailer reads the shop',
    capabilities: ['select'],
    targets: SHOP_TABLES,
    roles: [roleid],
  });
  await ensureRule(root, {
    name: 'the mailer attaches invoices',
    capabilities: ['download'],
    targets: ['orders'],
    roles: [roleid],
  });
  narrator.done('role “mailer”, which may read the shop and its invoices, and do nothing else');
  return roleid;
}

interface PolicyRule {
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly targets: readonly string[];
  readonly roles: readonly number[];
}

async function ensureRule(root: Client, rule: PolicyRule): Promise<void> {
  const { policy_rule: rules } = await root.rolesPbac<{ policy_rule: unknown[] }>(
    'query ($filter: String) { policy_rule(filter: $filter) { name } }',
    { filter: `name = '${rule.name}'` },
  );
  if (rules.length > 0) return;
  await create(root, 'policy_rule', 'ruleid', rule);
}

async function ensureEmailSettings(root: Client, queryRoleid: number, narrator: Narrator): Promise<void> {
  const existing = await root.rolesPbac<{
    email_types: { email_type: string }[];
    email_rule: { name: string }[];
  }>('{ email_types { email_type } email_rule { name } }');
  if (existing.email_types.length === 0) {
    // The local mailbox accepts any key.
    await root.rolesPbac('mutation { set_email_apikey(apikey: "demo") { apikey } }');
  }
  for (const { type, rule } of EMAIL_SETTINGS) {
    if (!existing.email_types.some((known) => known.email_type === type.email_type))
      await create(root, 'email_types', 'email_type', type, 'email_type');
    if (!existing.email_rule.some((known) => known.name === rule.name))
      await create(root, 'email_rule', 'ruleid', { ...rule, query_roleid: queryRoleid });
    narrator.done(`email “${type.email_type}”, and the rule “${rule.name}”`);
  }
}

/** Creates a control object. @returns its key */
async function create(
  client: Client,
  object: string,
  key: string,
  input: object,
  singular = object,
): Promise<number | string> {
  const document = `mutation ($input: ${object}Input) { made: create_${singular}(input: $input) { ${key} } }`;
  const { made } = await client.rolesPbac<{ made: Readonly<Record<string, number | string>> }>(document, {
    input,
  });
  return ownValue(made, key) ?? '';
}
