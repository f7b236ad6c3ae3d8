import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { PRINCIPAL_MAX_AGE_MS } from '../../../src/db/roles/principal.js';
import { makeResetLink } from '../../../src/control/roles/forgottenPassword.js';
import { ConsoleBrowser } from '../../api/consoleBrowser.js';
import { HttpBrowser } from '../../api/oidc/support/httpBrowser.js';
import { MisbehavingProvider } from '../../api/oidc/support/misbehavingProvider.js';
import { OidcFixture } from '../../api/oidc/support/oidcFixture.js';
import { at, codeOf, textAt, type AuthBody, type GraphqlResult } from '../../api/webFixture.js';

const PASSWORD = 'the secret of a role';
const STATED_MS = 1_000;

/** What a thief may hold of a role: each kind of credential, and whether it still opens anything. */
interface Held {
  readonly roleid: number;
  readonly confid: number;
  readonly providerid: number;
  readonly auth: AuthBody;
  readonly browser: ConsoleBrowser;
  readonly alive: Readonly<Record<Kind, () => Promise<boolean>>>;
}

const KINDS = [
  'access token',
  'refresh token',
  'console session',
  'file address',
  'sign-in under way',
  'token for a child',
  'API key',
  'invitation',
  'link for a new password',
] as const;
type Kind = (typeof KINDS)[number];

describe('attack: credentials that outlive what they were given for', () => {
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let names = 0;

  before(async () => {
    [fixture, provider] = await Promise.all([
      OidcFixture.start({ env: { SIGN_INS_PER_ADDRESS: '0' } }),
      MisbehavingProvider.start(),
    ]);
    const { tenantid } = fixture.tenant;
    const sql = 'alter table note add column document text';
    await runTenantSql(fixture.web.testDatabase.database, { tenantid, sql });
    await ok(fixture.root, '{ Utility { introspect } }');
    await ok(
      fixture.root,
      'mutation { Utility { set_file_table(table_name: "note", column_name: "document") { column_name } } }',
    );
    await ok(
      fixture.root,
      'mutation { create_policy_rule(input: {name: "all", capabilities: ["select", "insert", "upload"], targets: ["note"]}) { ruleid } }',
    );
  });
  after(() => Promise.all([fixture.stop(), provider.stop()]));

  async function ok(token: string, query: string): Promise<GraphqlResult> {
    const result = await fixture.web.control(token, query);
    expect(result.errors, query).to.equal(undefined);
    return result;
  }

  async function hold(): Promise<Held> {
    const { web, root, tenant } = fixture;
    const name = `role ${(names += 1)}`;
    const providerid = await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer });
    const confid = await fixture.createConfig(providerid);
    const made = await web.control(
      root,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      {
        input: {
          login: name,
          password: PASSWORD,
          capabilities: ['login', 'select', 'insert', 'upload', 'create_role'],
        },
      },
    );
    const roleid = Number(textAt(made, 'data.create_role.roleid'));
    await fixture.map(roleid, confid, 'somebody');
    const auth = await web.signIn(tenant.tenantid, name, PASSWORD);
    const browser = new ConsoleBrowser(web);
    await browser.signIn(String(tenant.tenantid), name, PASSWORD);
    const atProvider = new HttpBrowser();
    const { url: callback } = await atProvider.follow(
      await fixture.begin(atProvider, roleid, confid),
      (next) => !next.startsWith(fixture.baseUrl),
    );
    const uploads = await web.graphql(
      '/query',
      auth.access_token,
      `mutation { create_note(input: {id: ${names}}) { id } upload_note(id: ${names}, input: {filename: "a.txt", size: 1}) { upload_url } }`,
    );
    const uploadUrl = textAt(uploads, 'data.upload_note.upload_url').replace(fixture.baseUrl, web.url);
    const child = await web.createMember(auth.access_token, `child ${names}`, ['select']);
    const key = await web.control(
      root,
      `mutation { create_api_key(input: {roleid: ${roleid}, name: "k"}) { key } }`,
    );
    const invitation = await web.control(
      root,
      `mutation { create_invitation(input: {roleid: ${roleid}}) { link } }`,
    );
    const link = textAt(invitation, 'data.create_invitation.link').replace(fixture.baseUrl, '');
    const to = { name: '', email: 'ada@example.com' };
    const { database } = web.testDatabase;
    const reset =
      (await makeResetLink(database, { tenantid: fixture.tenant.tenantid, roleid, to }, '')) ?? '';
    const asks = async (token: string): Promise<boolean> =>
      (await web.fetch('/query?query={__typename}', { headers: { authorization: `Bearer ${token}` } }))
        .status === 200;
    return {
      roleid,
      confid,
      providerid,
      auth,
      browser,
      alive: {
        'access token': () => asks(auth.access_token),
        'refresh token': async () =>
          (await web.fetch('/auth', { headers: { authorization: `Bearer ${auth.refresh_token}` } }))
            .status === 200,
        'console session': async () => (await browser.get('/console/policies')).status === 200,
        'file address': async () => (await fetch(uploadUrl, { method: 'PUT', body: 'x' })).status === 201,
        'sign-in under way': async () => (await atProvider.send(callback)).status === 200,
        'token for a child': () => asks(child.token),
        'API key': () => asks(textAt(key, 'data.create_api_key.key')),
        invitation: async () => (await web.fetch(link)).status === 200,
        'link for a new password': async () => (await web.fetch(reset)).status === 200,
      },
    };
  }

  const update =
    (input: string) =>
    ({ roleid }: Held) =>
      ok(fixture.root, `mutation { update_role(roleid: ${roleid}, input: {${input}}) { roleid } }`);

  /** What happens, and how it is undone. */
  const EVENTS: Readonly<
    Record<string, readonly [(held: Held) => Promise<unknown>, ((held: Held) => Promise<unknown>)?]>
  > = {
    'its password changes': [
      ({ auth, roleid }) =>
        ok(
          auth.access_token,
          `mutation { update_role(roleid: ${roleid}, input: {password: "another secret"}) { roleid } }`,
        ),
      update(`password: "${PASSWORD}"`),
    ],
    'an administrator changes its password': [
      update('password: "another secret"'),
      update(`password: "${PASSWORD}"`),
    ],
    'it loses `login`': [
      update('capabilities: ["select", "insert", "upload", "create_role"]'),
      update('capabilities: ["login", "select", "insert", "upload", "create_role"]'),
    ],
    'it is deleted': [
      ({ roleid }) => ok(fixture.root, `mutation { delete_role(roleid: ${roleid}) { roleid } }`),
      update('deleted: false'),
    ],
    'an administrator changes its identity': [
      ({ roleid, confid }) =>
        ok(
          fixture.root,
          `mutation { update_role_oidc(roleid: ${roleid}, confid: ${confid}, input: {sub_id: "other"}) { roleid } }`,
        ),
      ({ roleid, confid }) =>
        ok(
          fixture.root,
          `mutation { update_role_oidc(roleid: ${roleid}, confid: ${confid}, input: {sub_id: "somebody"}) { roleid } }`,
        ),
    ],
    'its configuration is deleted': [
      ({ confid }) => ok(fixture.root, `mutation { delete_oidc_config(confid: ${confid}) { confid } }`),
    ],
    'its provider changes': [
      ({ providerid }) =>
        ok(
          fixture.pxadmin,
          `mutation { update_oidc_providers(providerid: ${providerid}, input: {issuer: "https://other.example"}) { name } }`,
        ),
      ({ providerid }) =>
        ok(
          fixture.pxadmin,
          `mutation { update_oidc_providers(providerid: ${providerid}, input: {issuer: "${provider.issuer}"}) { name } }`,
        ),
    ],
    'the tenant is suspended': [
      () =>
        ok(
          fixture.pxadmin,
          `mutation { update_tenant(tenantid: ${fixture.tenant.tenantid}, input: {suspended: true}) { name } }`,
        ),
      () =>
        ok(
          fixture.pxadmin,
          `mutation { update_tenant(tenantid: ${fixture.tenant.tenantid}, input: {suspended: false}) { name } }`,
        ),
    ],
    'its session is ended': [
      async ({ auth }) => {
        const { data } = await ok(auth.access_token, '{ Utility { sessions { sessionid is_current } } }');
        const sessions = at(data, 'Utility.sessions') as { sessionid: string; is_current: boolean }[];
        const { sessionid } = sessions.find(({ is_current }) => is_current)!;
        await ok(fixture.root, `mutation { Utility { end_session(sessionid: "${sessionid}") } }`);
      },
    ],
    'all its sessions are ended': [
      ({ auth }) => ok(auth.access_token, 'mutation { Utility { end_sessions } }'),
    ],
    'it signs out of the console': [
      async ({ browser }) => {
        const thief = new Map(browser.cookies);
        await browser.post('/console/sign-out', { csrf: await browser.csrf('/console/policies') });
        // Whoever has a copy of the cookie.
        for (const [name, value] of thief) browser.cookies.set(name, value);
      },
    ],
  };

  const documented = readTable();

  it('are all in the table', () => {
    expect(Object.keys(documented)).to.deep.equal(Object.keys(EVENTS));
  });

  it('are good while nothing happens', async () => {
    const { alive } = await hold();
    for (const kind of KINDS) expect(await alive[kind](), kind).to.equal(true);
  });

  for (const [event, [happen, undo]] of Object.entries(EVENTS)) {
    it(`when ${event}`, async () => {
      const held = await hold();
      await happen(held);
      // As other processes, which notice within this time.
      await new Promise((resolve) => setTimeout(resolve, Math.min(STATED_MS, PRINCIPAL_MAX_AGE_MS + 50)));
      const outcome: Record<string, string> = {};
      for (const kind of KINDS) {
        outcome[kind] = (await held.alive[kind]()) ? 'good' : 'dead';
      }
      if (undo) {
        await undo(held);
        for (const kind of KINDS) {
          if (outcome[kind] === 'good') continue;
          outcome[kind] = (await held.alive[kind]()) ? 'blocked' : 'dead';
        }
      }
      expect(outcome).to.deep.equal(documented[event]);
    });
  }

  it("is the login of a role whose password was changed, by an identity that it mapped to the thief's", async () => {
    const { roleid, confid, auth } = await hold();
    await ok(
      auth.access_token,
      `mutation { update_role_oidc(roleid: ${roleid}, confid: ${confid}, input: {sub_id: "thief"}) { roleid } }`,
    );
    await ok(
      auth.access_token,
      `mutation { update_role(roleid: ${roleid}, input: {password: "another secret"}) { roleid } }`,
    );
    const left = await ok(fixture.root, `{ role_oidc(filter: "roleid = ${roleid}") { sub_id } }`);
    expect(left.data).to.deep.equal({ role_oidc: [] });
  });

  it('is a mapping that goes on to another provider', async () => {
    const { confid, providerid } = await hold();
    const another = await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer });
    const change = `mutation { update_oidc_config(confid: ${confid}, input: {providerid: ${another}}) { confid } }`;
    expect(codeOf(await fixture.web.control(fixture.root, change))).to.equal('OIDC_CONFIG_IN_USE');
    await ok(
      fixture.root,
      `mutation { update_oidc_config(confid: ${confid}, input: {providerid: ${providerid}}) { confid } }`,
    );
  });
});

/** The table of docs/reference/permissions.md. */
function readTable(): Readonly<Record<string, Record<string, string>>> {
  const text = readFileSync(new URL('../../../docs/reference/permissions.md', import.meta.url), 'utf8');
  const [, table = ''] = text.split(/<!-- (?:end of )?credentials -->/);
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const [head = [], , ...body] = rows;
  return Object.fromEntries(
    body.map(([event = '', ...cells]) => [
      event,
      Object.fromEntries(cells.map((cell, at) => [head[at + 1] ?? '', cell])),
    ]),
  );
}
