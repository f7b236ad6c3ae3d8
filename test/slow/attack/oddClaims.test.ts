import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import { textAt, type Json } from '../../api/webFixture.js';
import {
  startMisbehaving,
  SUB_ID,
  type MisbehavingFixture,
} from '../../api/oidc/support/misbehavingFixture.js';
import { CLIENT } from '../../api/oidc/support/oidcFixture.js';

/** As JSON. */
const VALUES: readonly string[] = [
  ...['null', 'true', 'false', '0', '7', '-1', '1.5', '1e15', '-1e15', '1e300', '1e400', '9007199254740993'],
  ...[
    '""',
    '" "',
    '"text"',
    '"\\u0000"',
    '"\\ud800"',
    '"a\\r\\nb"',
    '"__proto__"',
    '"1e400"',
    `"${'x'.repeat(50_000)}"`,
  ],
  ...['[]', '[null]', '[7]', '["text"]', '[["text"]]', `[${'"x",'.repeat(5_000)}"x"]`],
  ...['{}', '{"a":1}', '{"__proto__":{"a":1}}', '{"toString":1,"valueOf":1}'],
];
const STANDARD = ['iss', 'aud', 'exp', 'iat', 'nbf', 'nonce', 'azp', 'auth_time', 'sub', 'sid'];
const OF_THE_PERSON = [
  'email',
  'email_verified',
  'groups',
  'dept',
  'name',
  'hasgroups',
  '_claim_names',
  '_claim_sources',
];
/** Those without which nobody signs in, of one type. */
const REQUIRED: Readonly<Record<string, (value: unknown) => boolean>> = {
  iss: (value) => typeof value === 'string',
  aud: (value) => typeof value === 'string' || Array.isArray(value),
  exp: (value) => typeof value === 'number',
  iat: (value) => typeof value === 'number',
  nonce: (value) => typeof value === 'string',
  sub: (value) => typeof value === 'string' && value !== '',
};
const GOOD = {
  email: 'ada@example.com',
  email_verified: true,
  groups: ['staff'],
  dept: 'sales',
  name: 'Ada',
  sid: 'one',
};

/** The claims as JSON, one of them with a value that is JSON. */
function withClaim(claims: Json, name: string, value: string): string {
  const others = Object.entries(claims).filter(([known]) => known !== name);
  return `{${[...others.map(([known, each]) => `"${known}":${JSON.stringify(each)}`), `"${name}":${value}`].join()}}`;
}

interface SignInResponse {
  readonly status: number;
  readonly body: { readonly code?: string; readonly access_token?: string };
}

describe('attack: claims of types that nobody expects', () => {
  let started: MisbehavingFixture;
  before(async () => {
    started = await startMisbehaving({ env: { SIGN_INS_PER_ADDRESS: '0' } });
  });
  after(() => started.stop());

  const control = async (query: string, variables: Json = {}): Promise<unknown> => {
    const { data, errors } = await started.fixture.web.control(started.fixture.root, query, variables);
    expect(errors).to.equal(undefined);
    return data;
  };
  const configure = async (fields: Json, config: Json = {}): Promise<number> => {
    const { fixture, provider } = started;
    const { endpoints, issuer } = provider;
    const confid = await fixture.createConfig(
      await fixture.createProvider({ ...endpoints, issuer, ...fields }),
    );
    await control(
      `mutation ($input: oidc_configInput) { update_oidc_config(confid: ${confid}, input: $input) { confid } }`,
      { input: { max_session_age: 86_400, ...config } },
    );
    return confid;
  };
  const provision = async (confid: number): Promise<void> => {
    const { fixture } = started;
    const parent = await fixture.web.createMember(fixture.root, `of ${confid}`, ['login', 'select']);
    const classid = Number(
      textAt(
        await control('mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }', {
          input: { name: `staff of ${confid}`, members: [parent.roleid] },
        }),
        'create_role_class.classid',
      ),
    );
    await control(
      'mutation ($input: oidc_group_classInput) { create_oidc_group_class(input: $input) { confid } }',
      {
        input: { confid, group_name: 'staff', classid },
      },
    );
    const input = {
      confid,
      parentid: parent.roleid,
      groups_claim: 'groups',
      required_claim: 'dept',
      required_value: 'sales',
      email_domains: ['example.com'],
      name: '{{ claims.name }}',
    };
    await control(
      'mutation ($input: oidc_provisioningInput) { create_oidc_provisioning(input: $input) { confid } }',
      {
        input,
      },
    );
  };

  /** Signs in with a claim whose value is replaced in the text of the claims. */
  const signIn = async (
    confid: number,
    roleid: number | undefined,
    name: string,
    value: string,
  ): Promise<SignInResponse> => {
    const { provider, fixture } = started;
    const claims: JWTPayload = { ...GOOD, auth_time: Math.floor(Date.now() / 1000) };
    provider.misbehavior = {
      discovery: { '': provider.documentWithUserInfo },
      claims,
      payload: (json) => withClaim(JSON.parse(json) as Json, name, value),
      userInfo: { sub: SUB_ID, ...GOOD },
    };
    const response = await fixture.signIn(roleid, confid);
    return { status: response.status, body: (await response.json()) as SignInResponse['body'] };
  };
  const expectAnswer = ({ status, body }: SignInResponse, what: string): void => {
    if (status === 200) expect(body.access_token, what).to.be.a('string');
    else expect([status, body.code].join(' '), what).to.match(/^(4\d\d|502) OIDC_/);
  };

  for (const field of ['sub', 'email', 'dept'] as const) {
    for (const isProvisioned of [false, true]) {
      it(`are refused with a code, or don't count, where ${field} identifies ${isProvisioned ? 'people whose roles are made' : 'a role'}`, async () => {
        const confid = await configure({ comparison_field: field });
        if (isProvisioned) await provision(confid);
        const identity = { sub: SUB_ID, ...GOOD }[field];
        const roleid = isProvisioned
          ? undefined
          : await started.fixture.createMappedRole(`by ${field}`, confid, identity);
        expect((await signIn(confid, roleid, 'more', '1')).body.code).to.equal(undefined);
        for (const name of [...STANDARD, ...OF_THE_PERSON]) {
          for (const value of VALUES) {
            const answer = await signIn(confid, roleid, name, value);
            const what = `${name}: ${value.slice(0, 40)}`;
            expectAnswer(answer, what);
            if (!(REQUIRED[name]?.(JSON.parse(value)) ?? true)) expect(answer.status, what).not.to.equal(200);
          }
        }
        expect((await signIn(confid, roleid, 'aud', JSON.stringify([CLIENT.client_id]))).status).to.equal(
          200,
        );
      });
    }
  }

  it('are refused with a code, or do not count, from UserInfo', async () => {
    const confid = await configure({});
    await provision(confid);
    const { provider, fixture } = started;
    for (const isSigned of [false, true]) {
      for (const name of [
        'sub',
        ...OF_THE_PERSON,
        ...(isSigned ? ['iss', 'aud', 'exp', 'iat', 'nbf'] : []),
      ]) {
        for (const value of VALUES) {
          const text = withClaim({ sub: SUB_ID, ...GOOD }, name, value);
          provider.misbehavior = { payload: () => text };
          const body = isSigned ? await provider.sign({}, 'right') : text;
          provider.misbehavior = {
            discovery: { '': provider.documentWithUserInfo },
            claims: { auth_time: Math.floor(Date.now() / 1000) },
            userInfo: (res) => void res.writeHead(200).end(body),
          };
          const response = await fixture.signIn(undefined, confid);
          const answer = { status: response.status, body: (await response.json()) as SignInResponse['body'] };
          const what = `${name}: ${value.slice(0, 40)}${isSigned ? ', signed' : ''}`;
          expectAnswer(answer, what);
          if (name === 'sub') expect(answer.status, what).not.to.equal(200);
        }
      }
    }
  });
});
