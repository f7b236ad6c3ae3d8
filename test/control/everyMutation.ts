import { randomUUID } from 'node:crypto';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { insertSession } from '../../src/db/roles/signIn/sessions.js';
import { textAt, type WebFixture } from '../api/webFixture.js';

/** Who makes the objects. */
type Maker = 'pxadmin' | 'root' | 'other root';

/** One object of each kind, in the tenant of all callers but two. */
export async function createObjects(
  fixture: WebFixture,
  tenant: CreatedTenant,
  tokens: Readonly<Record<Maker, string>>,
): Promise<Readonly<Record<string, string>>> {
  const made = async (caller: Maker, mutation: string, path: string): Promise<string> =>
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
  await made('root', 'create_email_suppression(input: {address: "gone@example.com"}) { address }', 'address');
  await made(
    'root',
    'create_email_unsubscribe(input: {address: "left@example.com", all_types: true}) { address }',
    'address',
  );
  const apiKey = await made('root', `create_api_key(input: {roleid: ${role}, name: "k"}) { keyid }`, 'keyid');
  const invited = await made(
    'root',
    'create_role(input: {login: "invited", capabilities: ["login"]}) { roleid }',
    'roleid',
  );
  await made('root', `create_invitation(input: {roleid: ${invited}}) { roleid }`, 'roleid');
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
    invited,
    apiKey,
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
export function mutations(
  tenantid: number,
  ids: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { role = '', config = '', spare = '', key = '', provider = '', rule = '', emailRule = '' } = ids;
  const classid = ids['class'] ?? '';
  return {
    create_tenant:
      'create_tenant(input: {name: "t", root_login: "r", root_password: "correct horse"}) { tenantid }',
    update_tenant: `update_tenant(tenantid: ${tenantid}, input: {name: "shop"}) { tenantid }`,
    delete_tenant: `delete_tenant(tenantid: ${tenantid}) { tenantid }`,
    create_role: `create_role(input: {login: "made", tenantid: ${tenantid}, capabilities: []}) { roleid }`,
    update_role: `update_role(roleid: ${role}, input: {name: "x"}) { roleid }`,
    delete_role: `delete_role(roleid: ${role}) { roleid }`,
    create_role_class: `create_role_class(input: {name: "made", tenantid: ${tenantid}}) { classid }`,
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
    create_invitation: `create_invitation(input: {roleid: ${ids['invited'] ?? ''}}) { roleid }`,
    delete_invitation: `delete_invitation(roleid: ${ids['invited'] ?? ''}) { roleid }`,
    create_api_key: `create_api_key(input: {roleid: ${role}, name: "another"}) { keyid }`,
    delete_api_key: `delete_api_key(keyid: "${ids['apiKey'] ?? ''}") { keyid }`,
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
    'Utility.set_email_transport': 'Utility { set_email_transport(input: {kind: "sendgrid"}) { set_time } }',
    create_email_suppression: 'create_email_suppression(input: {address: "new@example.com"}) { address }',
    delete_email_suppression: 'delete_email_suppression(address: "gone@example.com") { address }',
    create_email_unsubscribe:
      'create_email_unsubscribe(input: {address: "new@example.com", all_types: true}) { address }',
    delete_email_unsubscribe: 'delete_email_unsubscribe(address: "left@example.com") { address }',
    'Utility.set_email_webhook_key': 'Utility { set_email_webhook_key { url } }',
    'Utility.set_email_webhook': 'Utility { set_email_webhook(input: {kind: ses}) { url } }',
    'Utility.set_file_table':
      'Utility { set_file_table(table_name: "note", column_name: "id") { table_name } }',
    'Utility.set_password_sender': 'Utility { set_password_sender(sender: "shop@example.com") }',
    'Utility.end_session': `Utility { end_session(sessionid: "${ids['session'] ?? ''}") }`,
    'Utility.end_other_sessions': 'Utility { end_other_sessions }',
    'Utility.end_sessions': `Utility { end_sessions(roleid: ${role}) }`,
    'Utility.set_sign_in_brand': 'Utility { set_sign_in_brand(name: "Shop") { name } }',
    'Utility.set_capture': 'Utility { set_capture(table_name: "note", writers: api) { table_name } }',
    'Utility.set_captures': 'Utility { set_captures(tables: ["no*"], writers: api) { table } }',
    'Utility.send_test_email':
      'Utility { send_test_email(email_type: "hello", to: "a@example.com", context: {}) { sent } }',
    'Utility.save_email_draft': 'Utility { save_email_draft(email_type: "hello", input: {subject: "x"}) }',
    'Utility.delete_email_draft': 'Utility { delete_email_draft(email_type: "d") }',
    'Utility.redrive_email_delivery': 'Utility { redrive_email_delivery(deliveryid: 1) { deliveryid } }',
    'Utility.redrive_email_deliveries': 'Utility { redrive_email_deliveries }',
  };
}
