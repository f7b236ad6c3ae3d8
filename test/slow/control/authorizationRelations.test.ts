import { expect } from 'chai';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { codeOf, textAt, WebFixture, type GraphqlResult } from '../../api/webFixture.js';
import { ConsoleBrowser } from '../../api/consoleBrowser.js';
import { documentedTable, expectDocumentedTable } from '../../support/documentedTable.js';

const RELATIONS = [
  'itself',
  'a child',
  'a grandchild',
  'a child with more',
  'a deleted child',
  'its parent',
  'a sibling',
  'the root',
  'Nobody',
  'of another tenant',
] as const;
type Relation = (typeof RELATIONS)[number];
const MANAGES = [
  'create_role',
  'update_role',
  'delete_role',
  'create_class',
  'update_class',
  'delete_class',
  'view_class',
];
/** Fails after everything else of its request, which is rolled back then. */
const ROLLBACK = 'rollback: delete_role(roleid: "0") { roleid }';

/** Each operation on a role, where `$id` is the role. */
const OPERATIONS: Readonly<Record<string, string>> = {
  'create_role (below it)': 'create_role(input: {parentid: $id, capabilities: []}) { roleid }',
  'update_role (name)': 'update_role(roleid: $id, input: {name: "x"}) { roleid }',
  'update_role (login)': 'update_role(roleid: $id, input: {login: "renamed"}) { roleid }',
  'update_role (password)': 'update_role(roleid: $id, input: {password: "correct horse battery"}) { roleid }',
  'update_role (capabilities)': 'update_role(roleid: $id, input: {capabilities: ["login"]}) { roleid }',
  'update_role (classes)': 'update_role(roleid: $id, input: {classes: []}) { roleid }',
  'update_role (parentid)': 'update_role(roleid: $id, input: {parentid: $caller}) { roleid }',
  'update_role (deleted: false)': 'update_role(roleid: $id, input: {deleted: false}) { roleid }',
  delete_role: 'delete_role(roleid: $id) { roleid }',
  'update_role_class (members)':
    'update_role_class(classid: $class, input: {members: ["$caller", "$id"]}) { classid }',
  create_api_key: 'create_api_key(input: {roleid: $id, name: "k"}) { keyid }',
  create_invitation: 'create_invitation(input: {roleid: $id}) { roleid }',
  create_role_oidc: 'create_role_oidc(input: {roleid: $id, confid: $config, sub_id: "x"}) { roleid }',
};
const QUERIES: Readonly<Record<string, string>> = {
  'Utility.role_token': 'Utility { role_token(roleid: $id) }',
  'Utility.role_rights': 'Utility { role_rights(roleid: $id) { roleid } }',
};

describe('what a role may do to another (docs/reference/permissions.md)', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  const callers: Record<
    string,
    { roleid: number; token: string; classid: string; targets: Record<Relation, number> }
  > = {};
  let config: string;

  before(async () => {
    fixture = await WebFixture.start({ env: { ANONYMOUS_ROLES_PER_ADDRESS: '0' } });
    tenant = await fixture.createTenant('shop', 'create table note (id int primary key)');
    const other = await fixture.createTenant('other');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    const pxadmin = (await fixture.signIn(0, 'pxadmin', 'installation root')).access_token;
    const provider = textAt(
      await fixture.control(
        pxadmin,
        `mutation { create_oidc_providers(input: {name: "p", auth_uri: "https://p.example/", token_uri: "https://p.example/", jwks_uri: "https://p.example/"}) { providerid } }`,
      ),
      'data.create_oidc_providers.providerid',
    );
    config = textAt(
      await fixture.control(
        root,
        `mutation { create_oidc_config(input: {providerid: ${provider}, client_id: "c", client_secret: "s"}) { confid } }`,
      ),
      'data.create_oidc_config.confid',
    );
    const nobody = textAt(
      await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }'),
      'data.Utility.anonymous_logins',
    );
    for (const [name, capabilities] of [
      ['with', ['login', ...MANAGES]],
      ['without', ['login']],
    ] as const) {
      const member = (what: string, held: readonly string[], parentid?: number) =>
        fixture.createMember(root, `${what} ${name}`, held, parentid);
      const parent = await member('parent', ['login']);
      const { roleid, token } = await member('caller', capabilities, parent.roleid);
      const child = await member('child', ['login'], roleid);
      const deleted = await member('deleted', ['login'], roleid);
      await fixture.control(root, `mutation { delete_role(roleid: ${deleted.roleid}) { roleid } }`);
      const targets: Record<Relation, number> = {
        itself: roleid,
        'a child': child.roleid,
        'a grandchild': (await member('grandchild', ['login'], child.roleid)).roleid,
        'a child with more': (await member('stronger', ['login', 'select'], roleid)).roleid,
        'a deleted child': deleted.roleid,
        'its parent': parent.roleid,
        'a sibling': (await member('sibling', ['login'], parent.roleid)).roleid,
        'the root': tenant.rootRoleid,
        Nobody: Number(nobody),
        'of another tenant': other.rootRoleid,
      };
      const classid = textAt(
        await fixture.control(
          root,
          `mutation { create_role_class(input: {name: "${name}", members: ["${roleid}"]}) { classid } }`,
        ),
        'data.create_role_class.classid',
      );
      callers[name] = { roleid, token, classid, targets };
    }
  });
  after(() => fixture.stop());

  function cell({ errors }: GraphqlResult): string {
    const error = errors?.find(({ path }) => path?.[0] !== 'rollback');
    const code = error?.extensions.code;
    if (code === undefined) return 'yes';
    if (code === 'PERMISSION_DENIED') return 'no';
    return ['NOT_FOUND', 'UNKNOWN_ROLE', 'BAD_USER_INPUT'].includes(code) ? 'hidden' : code;
  }

  /** Alone, and as the second of two aliases, in a fragment: the same both times. */
  async function outcome(name: string, relation: Relation, holder: string): Promise<string> {
    const { roleid, token, classid, targets } = callers[holder]!;
    const filled = (text: string): string =>
      text
        .replaceAll('$id', String(targets[relation]))
        .replaceAll('$caller', String(roleid))
        .replaceAll('$class', classid)
        .replaceAll('$config', config);
    const mutation = OPERATIONS[name];
    const field = filled(mutation ?? QUERIES[name]!);
    const documents = mutation
      ? [
          `mutation { ${field} ${ROLLBACK} }`,
          `mutation { first: update_role(roleid: ${roleid}, input: {name: "y"}) { roleid } ...F ${ROLLBACK} } fragment F on Mutation { again: ${field} }`,
        ]
      : [`{ ${field} }`, `{ first: role { roleid } ...F } fragment F on Query { again: ${field} }`];
    const cells: string[] = [];
    for (const query of documents) cells.push(cell(await fixture.control(token, query)));
    expect(new Set(cells), `${name} on ${relation}: ${cells.join(', ')}`).to.have.length(1);
    return cells[0]!;
  }

  /** As a list shows it, at its root or nested. */
  async function listed(relation: Relation, holder: string): Promise<string> {
    const { token, targets } = callers[holder]!;
    const id = targets[relation];
    const { data } = await fixture.control(
      token,
      `{ role(filter: "roleid = ${id}") { roleid } nested: role { parent { roleid } children { roleid } tenant { name } } }`,
    );
    const seen = JSON.stringify(data?.['role']) !== '[]';
    const nested = new RegExp(`"roleid":"${id}"`).test(JSON.stringify(data?.['nested']));
    // Nested rows are no way around.
    if (nested) expect(seen, `nested: ${relation}`).to.equal(true);
    return seen ? 'yes' : 'hidden';
  }

  /** A change that the role made, as a list shows it. */
  async function changesListed(relation: Relation, holder: string): Promise<string> {
    const { token, targets } = callers[holder]!;
    const roleid = targets[relation];
    await fixture.testDatabase.database.pool.query(
      `insert into rowpost.audit_event (tenantid, roleid, object, operation)
       select tenantid, roleid, 'role', 'update' from rowpost.role where roleid = $1`,
      [roleid],
    );
    const { data } = await fixture.control(
      token,
      `{ audit_event(filter: "roleid = ${roleid}") { roleid } all: audit_event { roleid } }`,
    );
    const seen = JSON.stringify(data?.['audit_event']) !== '[]';
    expect(JSON.stringify(data?.['all']).includes(`"roleid":${roleid}}`), relation).to.equal(seen);
    return seen ? 'yes' : 'hidden';
  }

  it('matches the documentation, whatever the form of the request (UPDATE_DOCS=1 regenerates it)', async () => {
    const rows: string[] = [];
    for (const holder of Object.keys(callers)) {
      const row = async (name: string, cellOf: (relation: Relation) => Promise<string>): Promise<void> => {
        const cells: string[] = [];
        for (const relation of RELATIONS) cells.push(await cellOf(relation));
        rows.push(`| \`${name}\` ${holder} | ${cells.join(' | ')} |`);
      };
      await row('role', (relation) => listed(relation, holder));
      await row('audit_event', (relation) => changesListed(relation, holder));
      for (const name of [...Object.keys(OPERATIONS), ...Object.keys(QUERIES)]) {
        await row(name, (relation) => outcome(name, relation, holder));
      }
    }
    const head = `| | ${RELATIONS.join(' | ')} |\n|${' --- |'.repeat(RELATIONS.length + 1)}`;
    expectDocumentedTable('relations', `${head}\n${rows.join('\n')}`);
  });

  it('is nothing while the tenant is suspended, by any request', async () => {
    const { token, targets } = callers['with']!;
    const { pool } = fixture.testDatabase.database;
    await pool.query('update rowpost.tenant set suspended = true where tenantid = $1', [tenant.tenantid]);
    fixture.principals.forgetAll();
    try {
      for (const [name, field] of Object.entries({ ...OPERATIONS, ...QUERIES })) {
        const filled = field
          .replaceAll('$id', String(targets.itself))
          .replaceAll(/\$(caller|class|config)/g, '1');
        const kind = name in OPERATIONS ? 'mutation ' : '';
        const response = (await fixture.control(token, `${kind}{ ${filled} }`)) as { code?: string };
        expect(response.code ?? codeOf(response as GraphqlResult), name).to.equal('TENANT_SUSPENDED');
      }
    } finally {
      await pool.query('update rowpost.tenant set suspended = false where tenantid = $1', [tenant.tenantid]);
      fixture.principals.forgetAll();
    }
  });

  // The last one: passwords and roles are not what they were.
  it('is no more by the forms of the console', async () => {
    const documented = documentedTable('relations');
    const { pool } = fixture.testDatabase.database;
    const password = 'correct horse battery';
    for (const [holder, { roleid, targets }] of Object.entries(callers)) {
      await fixture.control(
        root,
        `mutation { update_role(roleid: ${roleid}, input: {password: "${password}"}) { roleid } }`,
      );
      const browser = new ConsoleBrowser(fixture);
      await browser.signIn('shop', `caller ${holder}`, password);
      const csrf = await browser.csrf('/console/roles');
      expect(csrf).not.to.equal('');
      const post = async (values: Readonly<Record<string, string>>): Promise<void> => {
        await (await browser.post('/console/roles/edit', { csrf, ...values })).text();
      };
      for (const [relation, id] of Object.entries(targets)) {
        const stored = async (): Promise<unknown> =>
          (await pool.query('select name, capabilities, deleted from rowpost.role where roleid = $1', [id]))
            .rows[0];
        for (const [operation, values] of [
          ['update_role (capabilities)', { name: `of ${holder}`, may_login: 'on' }],
          ['delete_role', { action: 'delete' }],
        ] as const) {
          const before = await stored();
          await post({ id: String(id), login: `${relation} ${holder}`, ...values });
          const allowed = documented.get(`\`${operation}\` ${holder}`)?.get(relation);
          const what = `${operation} ${holder}, ${relation}: ${allowed}`;
          if (allowed === 'yes' && relation !== 'a deleted child') {
            expect(await stored(), what).not.to.deep.equal(before);
          } else if (allowed !== 'yes') expect(await stored(), what).to.deep.equal(before);
        }
      }
    }
  });
});
