import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import { textAt, type AuthBody, type GraphqlResult, type Json } from '../webFixture.js';
import { startMisbehaving, type MisbehavingFixture } from './support/misbehavingFixture.js';
import { json, type Misbehavior } from './support/misbehavingProvider.js';
import type { FailureBody } from './support/oidcFixture.js';

/** As Entra sends it to people with more than 200 groups. */
const OVERAGE = {
  _claim_names: { groups: 'src1' },
  _claim_sources: { src1: { endpoint: 'https://graph.microsoft.com/v1.0/users/1/getMemberObjects' } },
};

describe('claims that an ID token has not', () => {
  let started: MisbehavingFixture;
  let confid: number;
  let classes: readonly [staff: number, editors: number];
  before(async () => {
    started = await startMisbehaving({ env: { SIGN_INS_PER_ADDRESS: '10000' } });
  });
  after(() => started.stop());

  const control = (query: string, variables: Json = {}): Promise<GraphqlResult> =>
    started.fixture.web.control(started.fixture.root, query, variables);
  const create = async (object: string, field: string, input: Json): Promise<string> =>
    textAt(
      await control(`mutation ($input: ${object}Input) { create_${object}(input: $input) { ${field} } }`, {
        input,
      }),
      `data.create_${object}.${field}`,
    );

  beforeEach(async () => {
    const { fixture, provider } = started;
    provider.misbehavior = {};
    const { endpoints, issuer } = provider;
    confid = await fixture.createConfig(await fixture.createProvider({ ...endpoints, issuer }));
    const parent = await fixture.web.createMember(fixture.root, `of ${confid}`, ['login', 'select']);
    const made: number[] = [];
    for (const name of ['staff', 'editors']) {
      const classid = await create('role_class', 'classid', {
        name: `${name} of ${confid}`,
        members: [parent.roleid],
      });
      made.push(Number(classid));
      await create('oidc_group_class', 'classid', { confid, group_name: name, classid: Number(classid) });
    }
    classes = [made[0]!, made[1]!];
    await create('oidc_provisioning', 'confid', { confid, parentid: parent.roleid, groups_claim: 'groups' });
  });

  const signIn = async (
    claims: JWTPayload,
    userInfo?: Misbehavior['userInfo'],
    more: Misbehavior = {},
  ): Promise<AuthBody & Partial<FailureBody>> => {
    const { provider, fixture } = started;
    const discovery = { '': provider.documentWithUserInfo };
    provider.misbehavior = {
      discovery,
      claims: { sub: 'ada', ...claims },
      ...(userInfo && { userInfo }),
      ...more,
    };
    return (await (await fixture.signIn(undefined, confid)).json()) as AuthBody & Partial<FailureBody>;
  };
  const rolesMade = async (): Promise<readonly (readonly number[])[]> => {
    const { rows } = await started.fixture.web.testDatabase.database.pool.query<{ classes: number[] }>(
      'select array(select unnest(classes) order by 1) as classes from rowpost.role_oidc join rowpost.role using (roleid) where confid = $1',
      [confid],
    );
    return rows.map((row) => row.classes);
  };

  it('are read from UserInfo with the access token, only if one is needed', async () => {
    const { provider } = started;
    await signIn({ groups: ['staff'] }, { sub: 'ada', groups: ['editors'] });
    expect(provider.userInfoReads).to.equal(0);
    expect(await rolesMade()).to.deep.equal([[classes[0]]]);
    await signIn({}, { sub: 'ada', groups: ['editors'] });
    expect(provider.userInfoReads).to.equal(1);
    expect(provider.lastHeaders.authorization).to.equal('Bearer opaque');
    expect(await rolesMade()).to.deep.equal([[classes[1]]]);
    await signIn({}, { sub: 'ada' });
    expect(await rolesMade()).to.deep.equal([[]]);
  });

  it('are read from UserInfo if there are too many for the ID token', async () => {
    for (const claims of [OVERAGE, { ...OVERAGE, groups: ['staff'] }, { hasgroups: true }]) {
      await signIn(claims, { sub: 'ada', groups: ['editors', 'nothing'] });
      expect(await rolesMade(), JSON.stringify(claims)).to.deep.equal([[classes[1]]]);
      await signIn({ groups: [] });
    }
  });

  it('refuse the sign-in if there are too many for UserInfo as well, and say what to change', async () => {
    await signIn({ groups: ['staff'] });
    for (const [claims, userInfo] of [
      [OVERAGE, { sub: 'ada' }],
      [OVERAGE, { sub: 'ada', ...OVERAGE }],
      [OVERAGE, { sub: 'ada', groups: ['editors'], ...OVERAGE }],
      [{ ...OVERAGE, groups: ['editors'] }, { sub: 'ada' }],
      [{}, { sub: 'ada', ...OVERAGE }],
      [{ hasgroups: true }, { sub: 'ada' }],
      [{ _claim_names: { groups: null } }, { sub: 'ada' }],
    ] as const) {
      const { code, error } = await signIn(claims, userInfo);
      expect(code, JSON.stringify([claims, userInfo])).to.equal('OIDC_NOT_ADMITTED');
      expect(error).to.include('At the provider, have the claim hold only the groups');
      expect(await rolesMade()).to.deep.equal([[classes[0]]]);
    }
  });

  it('refuse the sign-in if they are of somebody else, or can not be read', async () => {
    const text = (status: number, body: string) => (res: ServerResponse) =>
      void res.writeHead(status).end(body);
    for (const userInfo of [
      { sub: 'eve', groups: ['editors'] },
      { groups: ['editors'] },
      (res: ServerResponse): void => json(res, 401, { error: 'invalid_token' }),
      (res: ServerResponse): void => json(res, 500, {}),
      text(200, 'no JSON'),
      text(200, '["ada"]'),
      text(200, 'null'),
      text(204, ''),
      text(302, ''),
      text(200, `{"sub":"ada","groups":${'['.repeat(5_000)}${']'.repeat(5_000)}}`),
      text(200, `{"sub":"ada","groups":"${'x'.repeat(300_000)}"}`),
    ]) {
      const { code, error } = await signIn({}, userInfo);
      expect(code, error).to.equal('OIDC_PROVIDER_ERROR');
    }
    expect(await rolesMade()).to.deep.equal([]);
  });

  it('count if they are signed, and then only with a key of the provider', async () => {
    const userInfo = { sub: 'ada', groups: ['editors'] };
    expect((await signIn({}, userInfo, { signsUserInfo: true })).code).to.equal(undefined);
    expect(await rolesMade()).to.deep.equal([[classes[1]]]);
    const unsigned = [{ alg: 'none' }, userInfo].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const forged = (await signIn({}, (res) => void res.writeHead(200).end(`${unsigned.join('.')}.`))).code;
    expect(forged).to.equal('OIDC_PROVIDER_ERROR');
    // The ID token is signed rightly, and what comes after it by somebody else.
    started.provider.userInfoSignature = 'other key';
    try {
      expect((await signIn({}, userInfo, { signsUserInfo: true })).code).to.equal('OIDC_PROVIDER_ERROR');
    } finally {
      started.provider.userInfoSignature = 'right';
    }
  });

  it('are verified with the keys of ID tokens, which are fetched once, and are of this issuer and client', async () => {
    const { provider } = started;
    const userInfo = { sub: 'ada', groups: ['editors'] };
    await signIn({}, userInfo, { signsUserInfo: true });
    const before = provider.jwksReads;
    for (let times = 0; times < 3; times += 1) {
      const { code } = await signIn({}, { ...userInfo, iss: provider.issuer }, { signsUserInfo: true });
      expect(code).to.equal(undefined);
    }
    expect(provider.jwksReads).to.equal(before);
    for (const others of [
      { iss: 'https://other.example' },
      { iss: 7 as unknown as string },
      { aud: 'another client' },
      { aud: [] },
      { exp: 1 },
      { sub: 'eve' },
      { sub: ['ada'] as unknown as string },
    ]) {
      const { code } = await signIn({}, { ...userInfo, ...others }, { signsUserInfo: true });
      expect(code, JSON.stringify(others)).to.equal('OIDC_PROVIDER_ERROR');
    }
  });

  it('do not verify an address of the ID token', async () => {
    await control(
      `mutation { update_oidc_provisioning(confid: ${confid}, input: { email_domains: ["example.com"] }) { confid } }`,
    );
    const groups: string[] = [];
    const verified = { sub: 'ada', email: 'ada@example.com', email_verified: true };
    expect((await signIn({ groups, email: 'eve@example.com' }, verified)).code).to.equal('OIDC_NOT_ADMITTED');
    expect((await signIn({ groups, email: 'ada@example.com' }, verified)).code).to.equal(undefined);
    expect((await signIn({ groups }, verified)).code).to.equal(undefined);
  });

  it('are not verified by the ID token, which has no address', async () => {
    await control(
      `mutation { update_oidc_provisioning(confid: ${confid}, input: { email_domains: ["example.com"] }) { confid } }`,
    );
    const userInfo = { sub: 'ada', email: 'victim@example.com' };
    for (const verified of [{ email_verified: false }, {}]) {
      const { code } = await signIn({ groups: [], email_verified: true }, { ...userInfo, ...verified });
      expect(code).to.equal('OIDC_NOT_ADMITTED');
    }
  });
});
