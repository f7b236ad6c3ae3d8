import { expect } from 'chai';
import { buildControlSchema } from '../../src/control/controlSchema.js';
import { PRESETS } from '../../src/control/roles/presets.js';
import { OBJECTS } from '../../src/control/objects/index.js';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, PXADMIN_PASSWORD, textAt, WebFixture } from '../api/webFixture.js';
import { expectDocumentedTable } from '../support/documentedTable.js';
import { createObjects, mutations } from './everyMutation.js';

/** Presets of people; Administrator is the same as `admin`. */
const PEOPLE = ['Viewer', 'Support', 'Editor'] as const;
const CALLERS = [
  'pxadmin',
  'root',
  'admin',
  ...PEOPLE,
  'create_role',
  'plain',
  'Nobody',
  'other root',
] as const;
type Caller = (typeof CALLERS)[number];

const capabilitiesOf = (preset: string): readonly string[] =>
  PRESETS.find(({ name }) => name === preset)!.capabilities;

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
    for (const name of PEOPLE)
      tokens[name] = (await fixture.createMember(tokens.root, name, capabilitiesOf(name))).token;
    tokens['create_role'] = (await member('maker', ['create_role'])).token;
    tokens['plain'] = (await member('plain', ['select'])).token;
    const enabled = await fixture.control(tokens.root, '{ Utility { anonymous_logins(enable: true) } }');
    expect(enabled.errors).to.equal(undefined);
    const client = await fixture.postJson('/anonauth', { tenantid: tenant.tenantid });
    tokens['Nobody'] = textAt(await client.json(), 'access_token');
    ids = await createObjects(fixture, tenant, tokens);
  });
  after(() => fixture.stop());

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
    'Utility.statistics': 'statistics { counted }',
    'Utility.delivery_counts': 'delivery_counts { counted }',
    'Utility.installation_statistics': 'installation_statistics { tenants { name } }',
    'Utility.role_rights': `role_rights(roleid: ${ids['role'] ?? ''}) { roleid }`,
    'Utility.sessions': `sessions(roleid: ${ids['role'] ?? ''}) { sessionid }`,
    'Utility.anonymous_logins': 'anonymous_logins(enable: true)',
    'Utility.role_token': `role_token(roleid: ${ids['role'] ?? ''})`,
    'Utility.sign_in_brand': 'sign_in_brand { name }',
    'Utility.password_sender': 'password_sender',
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
    for (const [name, mutation] of Object.entries(mutations(tenant.tenantid, ids))) {
      rows.push(await row(name, (who) => tryMutation(who, name, mutation)));
    }
    const head = `| | ${CALLERS.join(' | ')} |\n|${' --- |'.repeat(CALLERS.length + 1)}`;
    return `${head}\n${rows.join('\n')}`;
  }

  it('has every preset, of which Administrator is the admin', () => {
    expect(PRESETS.map(({ name }) => name)).to.deep.equal([...PEOPLE, 'Administrator']);
    expect(capabilitiesOf('Administrator')).to.deep.equal(['login', 'admin']);
    const rows = PRESETS.map(
      ({ name, capabilities, may }) =>
        `| ${name} | ${capabilities.map((each) => `\`${each}\``).join(', ')} | ${may} |`,
    );
    expectDocumentedTable(
      'presets',
      ['| Preset | Capabilities | |', '| --- | --- | --- |', ...rows].join('\n'),
    );
  });

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
    expect(Object.keys(mutations(tenant.tenantid, ids))).to.have.members(names(schema.getMutationType()));
  });

  it('matches the documentation (UPDATE_DOCS=1 regenerates it)', async () => {
    // Some thousand requests.
    expectDocumentedTable('matrix', await table());
  });
});
