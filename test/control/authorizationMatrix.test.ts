import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { buildControlSchema } from '../../src/control/controlSchema.js';
import { insertSession } from '../../src/db/roles/signIn/sessions.js';
import { OBJECTS } from '../../src/control/objects/index.js';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, PXADMIN_PASSWORD, textAt, WebFixture } from '../api/webFixture.js';
import { expectDocumentedTable } from '../support/documentedTable.js';

const CALLERS = ['pxadmin', 'root', 'admin', 'create_role', 'plain', 'Nobody', 'other root'] as const;
type Caller = (typeof CALLERS)[number];

/** Fails after everything else of its request, which is rolled back then. */
const ROLLBACK = 'rollback: delete_role(roleid: "0") { roleid }';

describe('who may do what in /roles_pbac (docs/reference/permissions.md)', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  const tokens = {} as Record<Caller, string>;
  let ids: Readonly<Record<string, string>>;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop', 'create table note (id int primary key)');
    const other = await fixture.createTenant('other', 'create table note (id int primary key)');
    tokens['pxadmin'] = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
    tokens['root'] = (await fixture.signIn(tenant.tenantid)).access_token;
    tokens['other root'] = (await fixture.signIn(other.tenantid)).access_token;
    const member = (login: string, capabilities: readonly string[]) =>
      fixture.createMember(tokens.root, login, ['login', ...capabilities]);
    tokens['admin'] = (await member('admin', ['admin'])).token;
    tokens['create_role'] = (await member('maker', ['create_role'])).token;
    tokens['plain'] = (await member('plain', ['select'])).token;
    const enabled = await fixture.control(tokens.root, '{ Utility { anonymous_logins(enable: true) } }');
    expect(enabled.errors).to.equal(undefined);
    const client = await fixture.postJson('/anonauth', { tenantid: tenant.tenantid });
    tokens['Nobody'] = textAt(await client.json(), 'access_token');
    ids = await createObjects();
  });
  after(() => fixture.stop());

  /** One object of each kind, in the tenant of all callers but two. */
  async function createObjects(): Promise<Readonly<Record<string, string>>> {
    const made = async (caller: Caller, mutation: string, path: string): Promise<string> =>
      textAt(await fixture.control(tokens[caller], `mutation { made: ${mutation} }`), `data.made.${path}`);
    const role = await made(
      'root',
      'create_role(input: {login: "target", capabilities: []}) { roleid }',
      'roleid',
    );
    const provider = await made(
      'pxadmin',
      `create_oidc_providers(input: {name: "p", auth_uri: "https://p.example/", token_uri: "https://p.example/",
        jwks_uri: "https://p.example/", tenantid: ${tenant.tenantid}}) { providerid }`,
      'providerid',
    );
    const unused = await made(
      'pxadmin',
      `create_oidc_providers(input: {name: "u", auth_uri: "https://p.example/", token_uri: "https://p.example/",
        jwks_uri: "https://p.example/"}) { providerid }`,
      'providerid',
    );
    const config = await made(
      'root',
      `create_oidc_config(input: {providerid: ${provider}, client_id: "c", client_secret: "s"}) { confid }`,
      'confid',
    );
    const spare = await made(
      'root',
      `create_oidc_config(input: {providerid: ${provider}, client_id: "d", client_secret: "s"}) { confid }`,
      'confid',
    );
    await made(
      'root',
      `create_role_oidc(input: {roleid: ${role}, confid: ${config}, sub_id: "x"}) { roleid }`,
      'roleid',
    );
    const key = await made('root', `create_oidc_key(input: {confid: ${config}}) { kid }`, 'kid');
    const class_ = await made('root', 'create_role_class(input: {name: "c"}) { classid }', 'classid');
    await made(
      'root',
      `create_oidc_provisioning(input: {confid: ${config}, parentid: ${role}, capabilities: []}) { confid }`,
      'confid',
    );
    await made(
      'root',
      `create_oidc_group_class(input: {confid: ${config}, group_name: "g", classid: ${class_}}) { confid }`,
      'confid',
    );
    for (const caller of ['root', 'other root'] as const) {
      await made(caller, 'set_email_apikey(apikey: "key") { apikey }', 'apikey');
    }
    for (const name of ['hello', 'spare']) {
      await made(
        'root',
        `create_email_type(input: {email_type: "${name}", template: "x", subject: "x", recipients: ["a@example.com"],
          sender: "b@example.com"}) { email_type }`,
        'email_type',
      );
    }
    for (const name of ['base', 'spare_base']) {
      await made('root', `create_email_layout(input: {name: "${name}", template: "x"}) { name }`, 'name');
    }
    await made(
      'root',
      'create_email_suppression(input: {address: "gone@example.com"}) { address }',
      'address',
    );
    await made(
      'root',
      'create_email_unsubscribe(input: {address: "left@example.com", all_types: true}) { address }',
      'address',
    );
    const session = randomUUID();
    await insertSession(fixture.testDatabase.database.pool, {
      sessionid: session,
      tenantid: tenant.tenantid,
      roleid: Number(role),
      isConsole: false,
      confid: null,
      sinceMs: Date.now(),
      browser: '',
      address: '',
      stateMs: Date.now(),
      expiresAtMs: Date.now() + 3_600_000,
    });
    return {
      role,
      session,
      provider: unused,
      config,
      spare,
      key,
      class: class_,
      rule: await made(
        'root',
        'create_policy_rule(input: {name: "r", capabilities: ["select"], targets: ["note"]}) { ruleid }',
        'ruleid',
      ),
      emailRule: await made(
        'root',
        `create_email_rule(input: {operations: ["insert"], targets: ["note"], email_type: "hello",
          query_roleid: ${role}, name: "e"}) { ruleid }`,
        'ruleid',
      ),
    };
  }

  /** Each mutation with arguments that are right for the tenant's root, or for pxadmin where only that may. */
  function mutations(): Readonly<Record<string, string>> {
    const { role = '', config = '', spare = '', key = '', provider = '', rule = '', emailRule = '' } = ids;
    const classid = ids['class'] ?? '';
    return {
      create_tenant:
        'create_tenant(input: {name: "t", root_login: "r", root_password: "correct horse"}) { tenantid }',
      update_tenant: `update_tenant(tenantid: ${tenant.tenantid}, input: {name: "shop"}) { tenantid }`,
      delete_tenant: `delete_tenant(tenantid: ${tenant.tenantid}) { tenantid }`,
      create_role: `create_role(input: {login: "made", tenantid: ${tenant.tenantid}, capabilities: []}) { roleid }`,
      update_role: `update_role(roleid: ${role}, input: {name: "x"}) { roleid }`,
      delete_role: `delete_role(roleid: ${role}) { roleid }`,
      create_role_class: `create_role_class(input: {name: "made", tenantid: ${tenant.tenantid}}) { classid }`,
      update_role_class: `update_role_class(classid: ${classid}, input: {name: "x"}) { classid }`,
      delete_role_class: `delete_role_class(classid: ${classid}) { classid }`,
      create_policy_rule:
        'create_policy_rule(input: {name: "made", capabilities: ["select"], targets: ["note"]}) { ruleid }',
      update_policy_rule: `update_policy_rule(ruleid: ${rule}, input: {name: "x"}) { ruleid }`,
      delete_policy_rule: `delete_policy_rule(ruleid: ${rule}) { ruleid }`,
      create_oidc_providers: `create_oidc_providers(input: {name: "made", auth_uri: "https://p.example/",
        token_uri: "https://p.example/", jwks_uri: "https://p.example/"}) { providerid }`,
      update_oidc_providers: `update_oidc_providers(providerid: ${provider}, input: {name: "x"}) { providerid }`,
      delete_oidc_providers: `delete_oidc_providers(providerid: ${provider}) { providerid }`,
      create_oidc_config: `create_oidc_config(input: {providerid: ${provider}, client_id: "c", client_secret: "s"}) { confid }`,
      update_oidc_config: `update_oidc_config(confid: ${config}, input: {client_id: "x"}) { confid }`,
      delete_oidc_config: `delete_oidc_config(confid: ${config}) { confid }`,
      create_oidc_key: `create_oidc_key(input: {confid: ${spare}}) { kid }`,
      delete_oidc_key: `delete_oidc_key(kid: "${key}") { kid }`,
      create_oidc_provisioning: `create_oidc_provisioning(input: {confid: ${spare}, parentid: ${role}, capabilities: []}) { confid }`,
      update_oidc_provisioning: `update_oidc_provisioning(confid: ${config}, input: {seats: 1}) { confid }`,
      delete_oidc_provisioning: `delete_oidc_provisioning(confid: ${config}) { confid }`,
      create_oidc_group_class: `create_oidc_group_class(input: {confid: ${config}, group_name: "h", classid: ${classid}}) { confid }`,
      delete_oidc_group_class: `delete_oidc_group_class(confid: ${config}, group_name: "g", classid: ${classid}) { confid }`,
      create_role_oidc: `create_role_oidc(input: {roleid: ${role}, confid: ${spare}, sub_id: "x"}) { roleid }`,
      update_role_oidc: `update_role_oidc(roleid: ${role}, confid: ${config}, input: {sub_id: "y"}) { roleid }`,
      delete_role_oidc: `delete_role_oidc(roleid: ${role}, confid: ${config}) { roleid }`,
      create_email_type: `create_email_type(input: {email_type: "made", template: "x", subject: "x",
        recipients: ["a@example.com"], sender: "b@example.com"}) { email_type }`,
      update_email_type: 'update_email_type(email_type: "hello", input: {subject: "y"}) { email_type }',
      delete_email_type: 'delete_email_type(email_type: "spare") { email_type }',
      create_email_layout: 'create_email_layout(input: {name: "made", template: "x"}) { name }',
      update_email_layout: 'update_email_layout(name: "base", input: {template: "y"}) { name }',
      delete_email_layout: 'delete_email_layout(name: "spare_base") { name }',
      create_email_rule: `create_email_rule(input: {operations: ["insert"], targets: ["note"], email_type: "hello",
        query_roleid: ${role}, name: "made"}) { ruleid }`,
      update_email_rule: `update_email_rule(ruleid: ${emailRule}, input: {name: "x"}) { ruleid }`,
      delete_email_rule: `delete_email_rule(ruleid: ${emailRule}) { ruleid }`,
      set_email_apikey: 'set_email_apikey(apikey: "another") { apikey }',
      'Utility.set_email_apikey': 'Utility { set_email_apikey(apikey: "another") { apikey } }',
      'Utility.set_email_transport':
        'Utility { set_email_transport(input: {kind: "sendgrid"}) { set_time } }',
      create_email_suppression: 'create_email_suppression(input: {address: "new@example.com"}) { address }',
      delete_email_suppression: 'delete_email_suppression(address: "gone@example.com") { address }',
      create_email_unsubscribe:
        'create_email_unsubscribe(input: {address: "new@example.com", all_types: true}) { address }',
      delete_email_unsubscribe: 'delete_email_unsubscribe(address: "left@example.com") { address }',
      'Utility.set_email_webhook_key': 'Utility { set_email_webhook_key { url } }',
      'Utility.set_email_webhook': 'Utility { set_email_webhook(input: {kind: ses}) { url } }',
      'Utility.set_file_table':
        'Utility { set_file_table(table_name: "note", column_name: "id") { table_name } }',
      'Utility.end_session': `Utility { end_session(sessionid: "${ids['session'] ?? ''}") }`,
      'Utility.end_sessions': `Utility { end_sessions(roleid: ${role}) }`,
      'Utility.set_sign_in_brand': 'Utility { set_sign_in_brand(name: "Shop") { name } }',
      'Utility.set_capture': 'Utility { set_capture(table_name: "note", writers: api) { table_name } }',
      'Utility.set_captures': 'Utility { set_captures(tables: ["no*"], writers: api) { table } }',
      'Utility.send_test_email':
        'Utility { send_test_email(email_type: "hello", to: "a@example.com", context: {}) { sent } }',
      'Utility.save_email_draft': 'Utility { save_email_draft(email_type: "d", input: {subject: "x"}) }',
      'Utility.delete_email_draft': 'Utility { delete_email_draft(email_type: "d") }',
      'Utility.redrive_email_delivery': 'Utility { redrive_email_delivery(deliveryid: 1) { deliveryid } }',
      'Utility.redrive_email_deliveries': 'Utility { redrive_email_deliveries }',
    };
  }

  /** Past the question whether the caller may: there is no delivery, and what can't be rolled back goes alone. */
  const ALLOWED_YET = new Map([
    ['Utility.redrive_email_delivery', 'NOT_FOUND'],
    ['Utility.send_test_email', 'BAD_USER_INPUT'],
    ['Utility.set_email_transport', 'BAD_USER_INPUT'],
    ['Utility.set_captures', 'BAD_USER_INPUT'],
  ]);
  /** Objects that are read, with the field that tells them apart. */
  const LISTS = Object.fromEntries(
    OBJECTS.filter((object) => object.listed !== false).map(({ table, key }) => [table, key[0]!]),
  );
  const utilities = (): Readonly<Record<string, string>> => ({
    'Utility.introspect': 'introspect',
    'Utility.available_schemas_and_tables': 'available_schemas_and_tables',
    'Utility.tables': 'tables { name }',
    'Utility.backlog': 'backlog { events }',
    'Utility.role_rights': `role_rights(roleid: ${ids['role'] ?? ''}) { roleid }`,
    'Utility.sessions': `sessions(roleid: ${ids['role'] ?? ''}) { sessionid }`,
    'Utility.anonymous_logins': 'anonymous_logins(enable: true)',
    'Utility.role_token': `role_token(roleid: ${ids['role'] ?? ''})`,
    'Utility.sign_in_brand': 'sign_in_brand { name }',
    'Utility.check_oidc_config': `check_oidc_config(confid: ${ids['config'] ?? ''}) { step }`,
    'Utility.try_oidc_claims': `try_oidc_claims(confid: ${ids['config'] ?? ''}, claims: "{}") { refusal { code } }`,
    'Utility.email_transport': 'email_transport { set_time }',
    'Utility.email_webhook': 'email_webhook { url }',
    'Utility.email_webhooks': 'email_webhooks { url }',
    'Utility.explain_event': 'explain_event(target: "note", key: 1) { target }',
    'Utility.sent_mail': 'sent_mail(deliveryid: 1) { attempt }',
    'Utility.check_email': 'check_email(email_type: "hello") { code }',
    'Utility.template_names': 'template_names(email_type: "hello") { context }',
    'Utility.recent_rows': 'recent_rows(target: "note") { key }',
    'Utility.try_email_rule':
      'try_email_rule(input: { targets: ["note"], operations: ["insert"] }) { changes }',
    'Utility.preview_email': 'preview_email(email_type: "hello", context: {}) { __typename }',
  });

  async function tryMutation(caller: Caller, name: string, mutation: string): Promise<string> {
    const { errors } = await fixture.control(tokens[caller], `mutation { ${mutation} ${ROLLBACK} }`);
    const error = errors?.find(({ path }) => path?.[0] !== 'rollback');
    // A caller who may delete roles gets as far as the role that there is not; for others the last one is denied.
    return cell(error?.extensions.code, name);
  }

  async function tryUtility(caller: Caller, name: string, field: string): Promise<string> {
    const { errors } = await fixture.control(tokens[caller], `{ Utility { ${field} } }`);
    return cell(errors?.[0]?.extensions.code, name);
  }

  function cell(code: string | undefined, name: string): string {
    if (code === undefined || code === ALLOWED_YET.get(name)) return 'yes';
    if (code === 'PERMISSION_DENIED') return 'no';
    if (['NOT_FOUND', 'OIDC_CONFID_NOT_FOUND', 'EMAIL_TYPE_NOT_FOUND'].includes(code)) return 'hidden';
    return code;
  }

  /** How many of the objects that the tenant's root sees the caller sees. */
  async function tryList(caller: Caller, name: string, key: string): Promise<string> {
    const keys = async (token: string): Promise<string[] | undefined> => {
      const { data, errors } = await fixture.control(token, `{ ${name} { ${key} } }`);
      return errors ? undefined : (at(data, name) as Record<string, string>[]).map((row) => row[key]!);
    };
    const all = (await keys(tokens.root))!;
    const seen = await keys(tokens[caller]);
    if (!seen) return 'no';
    const shown = all.filter((id) => seen.includes(id)).length;
    if (all.length === 0) return 'yes';
    return shown === all.length ? 'all' : shown === 0 ? 'none' : 'some';
  }

  async function table(): Promise<string> {
    const row = async (name: string, attempt: (caller: Caller) => Promise<string>): Promise<string> => {
      const cells: string[] = [];
      for (const caller of CALLERS) cells.push(await attempt(caller));
      return `| \`${name}\` | ${cells.join(' | ')} |`;
    };
    const rows: string[] = [];
    for (const [name, key] of Object.entries(LISTS))
      rows.push(await row(name, (who) => tryList(who, name, key)));
    for (const [name, field] of Object.entries(utilities())) {
      rows.push(await row(name, (who) => tryUtility(who, name, field)));
    }
    for (const [name, mutation] of Object.entries(mutations())) {
      rows.push(await row(name, (who) => tryMutation(who, name, mutation)));
    }
    const head = `| | ${CALLERS.join(' | ')} |\n|${' --- |'.repeat(CALLERS.length + 1)}`;
    return `${head}\n${rows.join('\n')}`;
  }

  it('covers every query and every mutation', () => {
    const schema = buildControlSchema();
    const names = (type: ReturnType<typeof schema.getQueryType>): string[] =>
      Object.entries(type?.getFields() ?? {}).flatMap(([name, field]) =>
        name === 'Utility'
          ? Object.keys((field.type as NonNullable<typeof type>).getFields()).map(
              (inner) => `Utility.${inner}`,
            )
          : // Over the rows that the lists show: test/contract/aggregates.test.ts
            name === 'Aggregates'
            ? []
            : [name],
      );
    expect([...Object.keys(LISTS), ...Object.keys(utilities())]).to.have.members(
      names(schema.getQueryType()),
    );
    expect(Object.keys(mutations())).to.have.members(names(schema.getMutationType()));
  });

  it('matches the documentation (UPDATE_DOCS=1 regenerates it)', async () => {
    // Some thousand requests.
    expectDocumentedTable('matrix', await table());
  });
});
