import { expect } from 'chai';
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  jwtVerify,
  type JSONWebKeySet,
  type JWTPayload,
} from 'jose';
import { at, codeOf, textAt, type GraphqlResult, type Json } from '../webFixture.js';
import { HttpBrowser } from './support/httpBrowser.js';
import { startMisbehaving, SUB_ID, type MisbehavingFixture } from './support/misbehavingFixture.js';
import { CLIENT, type FailureBody } from './support/oidcFixture.js';
import { json } from './support/misbehavingProvider.js';

describe('how the client authenticates at the token endpoint', () => {
  let started: MisbehavingFixture;
  let confid: number;
  before(async () => {
    started = await startMisbehaving();
  });
  after(() => started.stop());

  const signIn = async (): Promise<void> => {
    await started.fixture.readAuthBody(await started.fixture.signIn(started.roleid, confid));
  };
  const control = (query: string): Promise<GraphqlResult> =>
    started.fixture.web.control(started.fixture.root, query);
  /** What the provider says of itself, to a configuration that has not read it yet. */
  async function announce(metadata: Json): Promise<void> {
    const { fixture, provider, roleid } = started;
    const { endpoints, issuer } = provider;
    const jwks_uri = `${endpoints.jwks_uri}?${Math.random()}`;
    provider.misbehavior = { discovery: { '': { issuer, jwks_uri, ...metadata } } };
    confid = await fixture.createConfig(await fixture.createProvider({ ...endpoints, jwks_uri, issuer }));
    await fixture.map(roleid, confid, SUB_ID);
  }

  it('is with the secret, in the way that the metadata names', async () => {
    const { provider } = started;
    await announce({ token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt'] });
    provider.misbehavior = { ...provider.misbehavior, basic: () => expect.fail('HTTP Basic was tried') };
    await signIn();
    expect(provider.lastForm.get('client_secret')).to.equal(CLIENT.client_secret);
    for (const named of [
      ['client_secret_basic', 'client_secret_post'],
      [],
      'client_secret_post',
      undefined,
    ]) {
      await announce({ token_endpoint_auth_methods_supported: named });
      await signIn();
      expect(provider.lastForm.has('client_secret'), String(named)).to.equal(false);
      expect(provider.lastAuthorization).to.match(/^Basic /);
    }
    // The metadata is wrong, or can't be read.
    await announce({ token_endpoint_auth_methods_supported: ['client_secret_basic'] });
    provider.misbehavior = {
      ...provider.misbehavior,
      basic: (res) => json(res, 401, { error: 'invalid_client' }),
    };
    await signIn();
    await announce({});
    provider.misbehavior = { wellKnown: (res) => res.writeHead(503).end() };
    await signIn();
  });

  const createKey = async (): Promise<{ kid: string; jwks_uri: string }> => {
    const made = await control(`mutation { create_oidc_key(input: { confid: ${confid} }) { kid jwks_uri } }`);
    return {
      kid: textAt(made, 'data.create_oidc_key.kid'),
      jwks_uri: textAt(made, 'data.create_oidc_key.jwks_uri'),
    };
  };
  const keysAt = async (uri: string): Promise<JSONWebKeySet> =>
    (await (await fetch(uri)).json()) as JSONWebKeySet;
  /** As the provider does it. */
  const readAssertion = async (
    uri: string,
    algorithms = ['RS256'],
  ): Promise<JWTPayload & { kid: string }> => {
    const form = started.provider.lastForm;
    expect(form.has('client_secret')).to.equal(false);
    expect(started.provider.lastAuthorization).to.equal(undefined);
    expect(form.get('client_assertion_type')).to.equal(
      'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    );
    const assertion = form.get('client_assertion')!;
    const { payload } = await jwtVerify(assertion, createLocalJWKSet(await keysAt(uri)), { algorithms });
    return { ...payload, kid: decodeProtectedHeader(assertion).kid! };
  };

  it('is with a key, if the configuration has one, that the provider finds at an address', async () => {
    await announce({});
    const { kid, jwks_uri } = await createKey();
    expect(jwks_uri).to.equal(
      `${started.fixture.baseUrl}/oidc/${confid}/jwks?tenantid=${started.fixture.tenant.tenantid}`,
    );
    await signIn();
    const first = await readAssertion(jwks_uri);
    expect(first).to.deep.include({
      kid,
      iss: CLIENT.client_id,
      sub: CLIENT.client_id,
      aud: started.provider.issuer,
    });
    expect(first.exp! - first.iat!).to.be.at.most(60);
    await signIn();
    expect((await readAssertion(jwks_uri)).jti).not.to.equal(first.jti);
    const [key] = (await keysAt(jwks_uri)).keys;
    expect(Object.keys(key!).sort()).to.deep.equal(['e', 'kid', 'kty', 'n', 'use']);
  });

  it('is with RSA-PSS where the provider wants no other RSA', async () => {
    await announce({ token_endpoint_auth_signing_alg_values_supported: ['ES256', 'PS256'] });
    const { jwks_uri } = await createKey();
    await signIn();
    await readAssertion(jwks_uri, ['PS256']);
  });

  it('is with the next key an hour after that became public, while both are', async () => {
    await announce({});
    const first = await createKey();
    await signIn();
    const second = await createKey();
    const third = await control(`mutation { create_oidc_key(input: { confid: ${confid} }) { kid } }`);
    expect(codeOf(third)).to.equal('BAD_USER_INPUT');
    const published = async (): Promise<readonly unknown[]> =>
      (await keysAt(first.jwks_uri)).keys.map(({ kid }) => kid);
    expect(await published()).to.deep.equal([first.kid, second.kid]);
    const used = async (): Promise<string> => {
      await signIn();
      return (await readAssertion(first.jwks_uri)).kid;
    };
    expect(await used()).to.equal(first.kid);
    const age = (kid: string, by: string): Promise<unknown> =>
      started.fixture.web.testDatabase.database.pool.query(
        'update rowpost.oidc_key set createtime = createtime - $2::interval where kid = $1',
        [kid, by],
      );
    await age(first.kid, '2 days');
    expect(await used()).to.equal(first.kid);
    await age(second.kid, '61 minutes');
    expect(await used()).to.equal(second.kid);
    await control(`mutation { delete_oidc_key(kid: "${first.kid}") { kid } }`);
    expect(await published()).to.deep.equal([second.kid]);
    expect(await used()).to.equal(second.kid);
    await control(`mutation { delete_oidc_key(kid: "${second.kid}") { kid } }`);
    expect((await fetch(first.jwks_uri)).status).to.equal(404);
    await signIn();
    expect(started.provider.lastAuthorization).to.match(/^Basic /);
  });

  it('is with a key alone, where the configuration has no secret', async () => {
    await announce({});
    const { fixture, roleid } = started;
    const create = (input: string): Promise<GraphqlResult> =>
      control(
        `mutation { create_oidc_config(input: { client_id: "rowpost", ${input} }) { confid client_secret } }`,
      );
    const provider = at(
      await control(`{ oidc_config(filter: "confid = ${confid}") { providerid } }`),
      'data.oidc_config.0.providerid',
    );
    const providerid = `providerid: ${Number(provider)}`;
    for (const without of ['', ', client_secret: null', ', client_secret: ""', ', with_key: false'])
      expect(codeOf(await create(providerid + without)), without).to.equal('BAD_USER_INPUT');
    const made = await create(`${providerid}, with_key: true`);
    expect(at(made, 'data.create_oidc_config.client_secret')).to.equal(null);
    confid = Number(textAt(made, 'data.create_oidc_config.confid'));
    await fixture.map(roleid, confid, SUB_ID);
    const keys = await control(`{ oidc_key(filter: "confid = ${confid}") { kid jwks_uri } }`);
    const kid = textAt(keys, 'data.oidc_key.0.kid');
    await signIn();
    expect((await readAssertion(textAt(keys, 'data.oidc_key.0.jwks_uri'))).kid).to.equal(kid);
    await control(`mutation { delete_oidc_key(kid: "${kid}") { kid } }`);
    const refused = (await (await fixture.signIn(roleid, confid)).json()) as FailureBody;
    expect(refused.code).to.equal('OIDC_CLIENT_REFUSED');
    expect(refused.error).to.match(/neither a client secret nor a key/);
  });

  it('needs the secret for as long as there is no key', async () => {
    await announce({});
    const update = (input: string): Promise<GraphqlResult> =>
      control(`mutation { update_oidc_config(confid: ${confid}, input: { ${input} }) { confid } }`);
    expect(codeOf(await update('client_secret: null'))).to.equal('BAD_USER_INPUT');
    expect(codeOf(await update('with_key: true'))).to.equal('BAD_USER_INPUT');
    const { kid, jwks_uri } = await createKey();
    expect((await update('client_secret: ""')).errors).to.equal(undefined);
    await signIn();
    expect((await readAssertion(jwks_uri)).kid).to.equal(kid);
    expect((await update('client_secret: "again"')).errors).to.equal(undefined);
    await control(`mutation { delete_oidc_key(kid: "${kid}") { kid } }`);
    await signIn();
    expect(started.provider.lastAuthorization).to.match(/^Basic /);
  });

  it('keeps the private part of a key encrypted, and what is public within its tenant', async () => {
    await announce({});
    const { kid, jwks_uri } = await createKey();
    const { rows } = await started.fixture.web.testDatabase.database.pool.query<{ row: string }>(
      'select to_jsonb(k)::text as row from rowpost.oidc_key k where kid = $1',
      [kid],
    );
    expect(rows[0]!.row).not.to.match(/"(d|p|q|dp|dq|qi)"/);
    const elsewhere = jwks_uri.replace(/tenantid=\d+/, 'tenantid=0');
    expect((await fetch(elsewhere)).status).to.equal(404);
    expect((await fetch(jwks_uri.replace(/\?.*/, ''))).status).to.equal(404);
    const { fixture } = started;
    const member = await fixture.web.createMember(fixture.root, 'reads no keys', ['login', 'select']);
    expect(codeOf(await fixture.web.control(member.token, '{ oidc_key { kid } }'))).to.equal(
      'PERMISSION_DENIED',
    );
  });

  it('takes callbacks by POST, from the provider alone', async () => {
    await announce({});
    const { fixture, provider, roleid } = started;
    const browser = new HttpBrowser();
    const address = await fixture.begin(browser, roleid, confid);
    const { url } = await browser.follow(address, (next) => !next.startsWith(fixture.baseUrl));
    const callback = new URL(url);
    const post = (
      body: URLSearchParams | string,
      headers: Readonly<Record<string, string>>,
    ): Promise<Response> =>
      browser.send(callback.origin + callback.pathname, { method: 'POST', headers, body });
    const from = { origin: provider.issuer, 'sec-fetch-site': 'cross-site' };
    const without = await post(new URLSearchParams({ tenantid: '1', confid: String(confid) }), from);
    expect(without.status).to.equal(403);
    const asJson = JSON.stringify(Object.fromEntries(callback.searchParams));
    const otherType = await post(asJson, { ...from, 'content-type': 'application/json' });
    expect(otherType.status).to.be.oneOf([403, 405]);
    const more = new URLSearchParams({ ...Object.fromEntries(callback.searchParams), evil: 'x' });
    const posted = await post(more, from);
    expect(posted.status).to.equal(303);
    const location = new URL(posted.headers.get('location')!, fixture.baseUrl);
    callback.searchParams.sort();
    location.searchParams.sort();
    expect(location.href).to.equal(callback.href);
    // Another browser has no cookie of the sign-in.
    const stolen = await new HttpBrowser().send(url);
    expect(((await stolen.json()) as FailureBody).code).to.equal('OIDC_STATE_INVALID');
    await fixture.readAuthBody(await browser.send(url));
  });
});
