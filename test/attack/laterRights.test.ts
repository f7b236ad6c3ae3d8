import { expect } from 'chai';
import { Authenticator } from '../../src/api/auth/authenticate.js';
import type { Tokens, TokenClaims } from '../../src/api/auth/tokens.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';
import type { StatementRunner } from '../../src/db/sql/statementRunner.js';
import { systemClock } from '../../src/foundation/clock.js';
import { ConsoleBrowser } from '../api/consoleBrowser.js';
import { textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';

const PASSWORD = 'correct horse battery';
const INVITATION = '/console/sign-in/invitation/';

describe('attack: a role keeps a way into one below it, which gets more rights later', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let root: string;
  let names = 0;

  before(async () => {
    fixture = await WebFixture.start({ env: { SIGN_INS_PER_ADDRESS: '0' } });
    ({ tenantid } = await fixture.createTenant(
      'shop',
      'create table note (id int primary key); insert into note values (1)',
    ));
    root = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  interface Member {
    readonly roleid: number;
    readonly token: string;
  }
  /** A role, and one below it with fewer rights. */
  const pair = async (): Promise<{ lead: Member; clerk: Member & { readonly login: string } }> => {
    names += 1;
    const lead = await fixture.createMember(root, `lead ${names}`, [
      'login',
      'select',
      'create_role',
      'update_role',
    ]);
    const login = `clerk ${names}`;
    const clerk = await fixture.createMember(lead.token, login, ['login', 'select'], lead.roleid);
    return { lead, clerk: { ...clerk, login } };
  };
  const must = async (token: string, query: string, variables?: Json): Promise<GraphqlResult> => {
    const result = await fixture.control(token, query, variables);
    expect(result.errors, query).to.equal(undefined);
    return result;
  };
  const update = (roleid: number, input: Json): Promise<GraphqlResult> =>
    must(
      root,
      'mutation ($id: ID!, $input: roleInput) { update_role(roleid: $id, input: $input) { roleid } }',
      { id: roleid, input },
    );
  const promote = (roleid: number): Promise<GraphqlResult> =>
    update(roleid, { capabilities: ['login', 'admin'] });
  const isAdmin = async (token: string): Promise<boolean> => {
    const response = await fixture.postJson(
      '/roles_pbac',
      { query: '{ Utility { tables { name } } }' },
      { authorization: `Bearer ${token}` },
    );
    return (await response.text()).startsWith('{"data":{"Utility":{"tables"');
  };
  const classOf = async (...members: readonly Member[]): Promise<void> => {
    names += 1;
    const made = await must(
      root,
      `mutation { create_role_class(input: {name: "class ${names}"}) { classid } }`,
    );
    const classid = Number(textAt(made, 'data.create_role_class.classid'));
    const query = `mutation { create_policy_rule(input: {name: "of ${names}", capabilities: ["select"],
      targets: ["note"], classes: [${classid}]}) { ruleid } }`;
    await must(root, query);
    for (const { roleid } of members) await update(roleid, { classes: [classid] });
  };

  const invite = async ({ token }: Member, { roleid }: Member): Promise<string> => {
    const made = await must(token, `mutation { create_invitation(input: {roleid: ${roleid}}) { link } }`);
    return textAt(made, 'data.create_invitation.link').slice(fixture.config.baseUrl.length);
  };
  const opens = async (path: string): Promise<boolean> =>
    (await new ConsoleBrowser(fixture).get(path)).status === 200;
  const accept = async (path: string): Promise<number> => {
    const values = { invitation: path.slice(INVITATION.length), secret: PASSWORD };
    return (await new ConsoleBrowser(fixture).post(INVITATION, values)).status;
  };

  it('by an invitation', async () => {
    const { lead, clerk } = await pair();
    const path = await invite(lead, clerk);
    expect(await opens(path)).to.equal(true);
    await promote(clerk.roleid);
    expect(await opens(path)).to.equal(false);
    expect(await accept(path)).to.equal(404);
    const tried = await fixture.postJson('/auth', { tenantid, login: clerk.login, password: PASSWORD });
    expect(tried.status).to.equal(401);
  });

  it('by an invitation, whose maker may no longer make one', async () => {
    const ways: readonly ((lead: Member, clerk: Member) => Promise<unknown>)[] = [
      (lead) => update(lead.roleid, { capabilities: ['login', 'select', 'create_role'] }),
      (lead) => must(root, `mutation { delete_role(roleid: ${lead.roleid}) { roleid } }`),
      async (_lead, clerk) => update(clerk.roleid, { parentid: (await fixture.signIn(tenantid)).roleid }),
      (_lead, clerk) => classOf(clerk),
    ];
    for (const end of ways) {
      const { lead, clerk } = await pair();
      const path = await invite(lead, clerk);
      await end(lead, clerk);
      expect([await opens(path), await accept(path)], end.toString()).to.deep.equal([false, 404]);
    }
  });

  it('by an invitation, which is good while its maker may make one', async () => {
    const { lead, clerk } = await pair();
    const path = await invite(lead, clerk);
    await classOf(lead, clerk);
    expect(await accept(path)).to.equal(303);
    const ofRoot = await invite({ roleid: 0, token: root }, clerk);
    await promote(clerk.roleid);
    expect(await accept(ofRoot)).to.equal(303);
  });

  it('by an API key', async () => {
    for (const wanted of ['', ', capabilities: ["select", "admin", "create_role"]']) {
      const { lead, clerk } = await pair();
      const query = `mutation { create_api_key(input: {name: "k", roleid: ${clerk.roleid}${wanted}}) { key capabilities } }`;
      const made = await must(lead.token, query);
      const key = textAt(made, 'data.create_api_key.key');
      await promote(clerk.roleid);
      expect(await isAdmin(key), wanted).to.equal(false);
      const own = (await must(root, `{ api_key(filter: "roleid = ${clerk.roleid}") { capabilities } }`)).data;
      const held = wanted === '' ? ['login', 'select'] : ['select'];
      expect(own).to.deep.equal({ api_key: [{ capabilities: held }] });
    }
  });

  it('by an API key, which an administrator makes for all that a role may do', async () => {
    const { clerk } = await pair();
    const made = await must(
      root,
      `mutation { create_api_key(input: {name: "k", roleid: ${clerk.roleid}}) { key } }`,
    );
    await promote(clerk.roleid);
    expect(await isAdmin(textAt(made, 'data.create_api_key.key'))).to.equal(true);
  });

  const read = async (token: string, query: string): Promise<string> =>
    (await fixture.postJson('/query', { query }, { authorization: `Bearer ${token}` })).text();
  const tokenFor = async ({ token }: Member, { roleid }: Member): Promise<string> =>
    textAt(await must(token, `{ Utility { role_token(roleid: ${roleid}) } }`), 'data.Utility.role_token');

  it('by a token of role_token', async () => {
    const { lead, clerk } = await pair();
    const ofLead = await tokenFor(lead, clerk);
    const ofRoot = await tokenFor({ roleid: 0, token: root }, clerk);
    expect(await read(ofLead, '{ __typename }')).to.equal('{"data":{"__typename":"Query"}}');
    await promote(clerk.roleid);
    expect([await isAdmin(ofLead), await isAdmin(ofRoot)]).to.deep.equal([false, true]);
    expect(await read(ofLead, '{ __typename }')).to.include('TOKEN_REVOKED');
  });

  it('by a token of role_token, for rows of a class; one that both join makes no difference', async () => {
    const { lead, clerk } = await pair();
    const token = await tokenFor(lead, clerk);
    const rows = (): Promise<string> => read(token, '{ note { id } }');
    // In the order in which a process that has one of them in its cache would see more of the other.
    await classOf(lead, clerk);
    expect(await rows()).to.equal('{"data":{"note":[{"id":"1"}]}}');
    await classOf(clerk);
    expect(await rows()).to.include('TOKEN_REVOKED');
  });

  it('by a token of role_token, which costs two reads a second and not two with each request', async () => {
    const { lead, clerk } = await pair();
    await promote(clerk.roleid);
    let reads = 0;
    const { pool } = fixture.testDatabase.database;
    const counted = {
      query: (text: string, values: unknown[]) => {
        reads += 1;
        return pool.query(text, values);
      },
    } as StatementRunner;
    let nowMs = 1;
    const claims = {
      type: 'access',
      tenantid,
      roleid: clerk.roleid,
      tokensValidFromMs: Infinity,
      actors: [{ roleid: lead.roleid, tokensValidFromMs: Infinity }],
    } as unknown as TokenClaims;
    const authenticator = new Authenticator(
      { verify: () => Promise.resolve(claims) } as unknown as Tokens,
      new PrincipalSource(counted, () => nowMs),
      { noteUse: () => undefined },
      { clock: systemClock, signInsPerAddress: 0, turns: { ofAddress: (_address, work) => work() } },
    );
    const isRevoked = (): Promise<boolean> =>
      authenticator.authenticate('Bearer token', 'access').then(
        () => false,
        (error: unknown) => (error as { code?: string }).code === 'TOKEN_REVOKED',
      );
    for (let request = 0; request < 20; request++) expect(await isRevoked()).to.equal(true);
    expect(reads).to.equal(4);
    await update(lead.roleid, { capabilities: ['login', 'admin'] });
    nowMs += 1_000;
    expect(await isRevoked()).to.equal(false);
  });
});
