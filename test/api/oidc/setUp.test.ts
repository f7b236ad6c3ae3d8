import { expect } from 'chai';
import { at, codeOf, textAt, type GraphqlResult, type Json } from '../webFixture.js';
import { startMisbehaving, type MisbehavingFixture } from './support/misbehavingFixture.js';
import { json, type Misbehavior } from './support/misbehavingProvider.js';

const CHECK = 'query ($confid: Int!) { Utility { check_oidc_config(confid: $confid) { step ok message } } }';
const TRY = `query ($confid: Int!, $claims: String!) { Utility { try_oidc_claims(confid: $confid, claims: $claims) {
  read { path values } role { roleid login name parentid capabilities classes } refusal { code message } } } }`;

describe('the set-up of single sign-on', () => {
  let started: MisbehavingFixture;
  let confid: number;
  before(async () => {
    started = await startMisbehaving();
  });
  after(() => started.stop());

  const control = (query: string, variables: Json = {}): Promise<GraphqlResult> =>
    started.fixture.web.control(started.fixture.root, query, variables);
  const right = (): Misbehavior => {
    const { issuer, endpoints } = started.provider;
    const document = {
      issuer,
      jwks_uri: endpoints.jwks_uri,
      authorization_endpoint: endpoints.auth_uri.replace(/\?.*/, ''),
      token_endpoint: endpoints.token_uri,
    };
    return { discovery: { '': document } };
  };
  beforeEach(async () => {
    const { fixture, provider } = started;
    provider.misbehavior = right();
    confid = await fixture.createConfig(
      await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer }),
    );
  });

  const check = async (): Promise<readonly Json[]> =>
    at(await control(CHECK, { confid }), 'data.Utility.check_oidc_config') as readonly Json[];

  it('is right at every step of a provider that does all right', async () => {
    expect(await check()).to.deep.equal(
      ['discovery', 'keys', 'authorization', 'client'].map((step) => ({ step, ok: true, message: null })),
    );
  });

  it('says which step is wrong, and what', async () => {
    const { issuer, endpoints } = started.provider;
    const refuse = (status: number, error: string): Misbehavior => ({
      ...right(),
      token: (res) => json(res, status, { error }),
    });
    const document = { issuer, jwks_uri: endpoints.jwks_uri, token_endpoint: `${issuer}/other` };
    for (const [misbehavior, wrong, message] of [
      [{ discovery: {} }, 'discovery', /no discovery document/],
      [{ wellKnown: (res) => res.writeHead(503).end() }, 'discovery', /gave no response/],
      [{ discovery: { '': document } }, 'discovery', /another token_endpoint than token_uri/],
      [{ ...right(), jwks: (res) => res.writeHead(404).end() }, 'keys', /jwks_uri/],
      [refuse(401, 'invalid_client'), 'client', /refused this client/],
      [refuse(400, 'redirect_uri_mismatch'), 'client', /Register exactly/],
      [refuse(500, 'server_error'), 'client', /response can't be used/],
    ] as readonly (readonly [Misbehavior, string, RegExp])[]) {
      started.provider.misbehavior = misbehavior;
      const steps = await check();
      expect(
        steps.filter(({ ok }) => ok !== true).map(({ step }) => step),
        String(message),
      ).to.deep.equal([wrong]);
      expect(steps.find(({ step }) => step === wrong)!['message']).to.match(message);
    }
  });

  it('shows the role that claims would give, which is the one that they give', async () => {
    const { fixture } = started;
    const parent = await fixture.web.createMember(fixture.root, `of ${confid}`, ['login', 'select']);
    const create = async (object: string, field: string, input: Json): Promise<string> =>
      textAt(
        await control(`mutation ($input: ${object}Input) { create_${object}(input: $input) { ${field} } }`, {
          input,
        }),
        `data.create_${object}.${field}`,
      );
    const classid = Number(
      await create('role_class', 'classid', { name: `staff ${confid}`, members: [parent.roleid] }),
    );
    await create('oidc_group_class', 'confid', { confid, group_name: 'staff', classid });
    await create('oidc_provisioning', 'confid', {
      confid,
      parentid: parent.roleid,
      capabilities: ['login', 'select'],
      name: '{{ claims.name }}',
      login: '{{ claims.email }}',
      groups_claim: 'groups',
      required_claim: 'hd',
      required_value: 'example.com',
    });
    const tryClaims = async (claims: Json): Promise<Json> => {
      const reply = await control(TRY, { confid, claims: JSON.stringify(claims) });
      expect(reply.errors).to.equal(undefined);
      return at(reply, 'data.Utility.try_oidc_claims') as Json;
    };
    const person = {
      sub: 'ada',
      name: 'Ada',
      email: `ada@${confid}`,
      groups: ['staff', 'x'],
      hd: 'example.com',
    };
    const everything = async (): Promise<unknown> =>
      (
        await fixture.web.testDatabase.database.pool.query(
          `select (select json_agg(r order by roleid) from rowpost.role r) as roles,
             (select json_agg(m order by roleid, confid) from rowpost.role_oidc m) as mappings`,
        )
      ).rows;
    const before = await everything();
    const role = {
      roleid: null,
      login: person.email,
      name: 'Ada',
      parentid: parent.roleid,
      capabilities: ['login', 'select'],
      classes: [classid],
    };
    expect(await tryClaims(person)).to.deep.equal({
      read: [
        { path: 'sub', values: ['ada'] },
        { path: 'groups', values: ['staff', 'x'] },
        { path: 'hd', values: ['example.com'] },
        { path: 'name', values: ['Ada'] },
        { path: 'email', values: [person.email] },
      ],
      role,
      refusal: null,
    });
    for (const [claims, code] of [
      [{ ...person, hd: 'other.example' }, 'OIDC_NOT_ADMITTED'],
      [{ ...person, sub: 7 }, 'OIDC_CLAIM_MISSING'],
      [{ ...person, email: 'root' }, 'OIDC_NOT_ADMITTED'],
      [{ ...person, _claim_names: { groups: 'src1' } }, 'OIDC_NOT_ADMITTED'],
    ] as const)
      expect(at(await tryClaims(claims), 'refusal.code'), JSON.stringify(claims)).to.equal(code);
    expect(await everything()).to.deep.equal(before);
    started.provider.misbehavior = { ...right(), claims: person };
    const { roleid } = await fixture.readAuthBody(await fixture.signIn(undefined, confid));
    expect(at(await tryClaims({ ...person, groups: [] }), 'role')).to.deep.equal({
      ...role,
      roleid,
      classes: [],
    });
    expect(at(await tryClaims(person), 'role')).to.deep.equal({ ...role, roleid });
  });

  it('is shown to administrators alone, and refuses what is no claims', async () => {
    const { fixture } = started;
    const member = await fixture.web.createMember(fixture.root, `member ${confid}`, ['login', 'select']);
    for (const [query, more] of [
      [CHECK, {}],
      [TRY, { claims: '{}' }],
    ] as const) {
      expect(codeOf(await fixture.web.control(member.token, query, { confid, ...more }))).to.equal(
        'PERMISSION_DENIED',
      );
      expect(codeOf(await control(query, { confid: 99_999, ...more }))).to.equal('OIDC_CONFID_NOT_FOUND');
    }
    for (const claims of ['', '[]', 'null', '{', `{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`])
      expect(codeOf(await control(TRY, { confid, claims })), claims.slice(0, 9)).to.equal('BAD_USER_INPUT');
  });
});
