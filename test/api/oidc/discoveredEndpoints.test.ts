import { expect } from 'chai';
import { at, codeOf, PXADMIN_PASSWORD, textAt, type GraphqlResult, type Json } from '../webFixture.js';
import { ConsoleBrowser } from '../consoleBrowser.js';
import { startMisbehaving, type MisbehavingFixture } from './support/misbehavingFixture.js';
import type { Misbehavior } from './support/misbehavingProvider.js';

const CREATE = `mutation ($input: oidc_providersInput) {
  create_oidc_providers(input: $input) { issuer auth_uri token_uri jwks_uri } }`;
const PAGE = '/console/identity-providers';

describe('a provider given by its issuer alone', () => {
  let started: MisbehavingFixture;
  let names = 0;
  before(async () => {
    started = await startMisbehaving();
  });
  after(() => started.stop());

  const documented = (more: Json = {}): Json => {
    const { issuer } = started.provider;
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      ...more,
    };
  };
  const endpoints = (): Json => {
    const { issuer } = started.provider;
    return {
      issuer,
      auth_uri: `${issuer}/authorize`,
      token_uri: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
    };
  };
  beforeEach(() => {
    started.provider.misbehavior = { discovery: { '': documented() } };
    started.provider.discoveryReads = 0;
  });

  const create = (input: Json, token = started.fixture.pxadmin): Promise<GraphqlResult> =>
    started.fixture.web.control(token, CREATE, { input: { name: `discovered ${++names}`, ...input } });
  const created = async (input: Json): Promise<Json> =>
    at(await create(input), 'data.create_oidc_providers') as Json;

  it('has the endpoints of its discovery document, however its issuer was copied', async () => {
    const { issuer } = started.provider;
    for (const given of [issuer, `${issuer}/`, `${issuer}/.well-known/openid-configuration`]) {
      expect(await created({ issuer: given, auth_uri: '', jwks_uri: null }), given).to.deep.equal(
        endpoints(),
      );
    }
  });

  it('keeps the endpoints that are given, and reads nothing if all are', async () => {
    const { issuer } = started.provider;
    const auth_uri = `${issuer}/authorize?response_mode=form_post`;
    expect(await created({ issuer, auth_uri })).to.deep.equal({ ...endpoints(), auth_uri });
    started.provider.discoveryReads = 0;
    const all = { ...endpoints(), issuer: `${issuer}/` };
    expect(await created(all)).to.deep.equal(all);
    expect(started.provider.discoveryReads).to.equal(0);
  });

  it('is refused with the reason if its document can’t be used', async () => {
    const { issuer } = started.provider;
    const answers: readonly (readonly [Misbehavior, string, RegExp])[] = [
      [{}, 'BAD_USER_INPUT', /^There is no discovery document at /],
      [{ wellKnown: (res) => res.writeHead(503).end() }, 'OIDC_PROVIDER_ERROR', /responds with an error/],
      [{ wellKnown: (res) => res.writeHead(200).end('null') }, 'BAD_USER_INPUT', /^There is no discovery/],
      [{ wellKnown: (res) => res.writeHead(200).end('{') }, 'BAD_USER_INPUT', /^There is no discovery/],
      [
        { discovery: { '': documented({ issuer: 'https://other.example' }) } },
        'BAD_USER_INPUT',
        /another issuer, https:\/\/other\.example\./,
      ],
      [{ discovery: { '': documented({ jwks_uri: 7 }) } }, 'BAD_USER_INPUT', /^jwks_uri is missing\.$/],
      [
        { discovery: { '': documented({ token_endpoint: 'ftp://x' }) } },
        'BAD_USER_INPUT',
        /^token_uri must be an https address/,
      ],
    ];
    for (const [misbehavior, code, message] of answers) {
      started.provider.misbehavior = misbehavior;
      const refused = await create({ issuer });
      expect(codeOf(refused), String(message)).to.equal(code);
      expect(textAt(refused, 'errors.0.message')).to.match(message);
    }
    for (const [given, code] of [
      ['http://127.0.0.1:1', 'OIDC_PROVIDER_ERROR'],
      ['not an address', 'BAD_USER_INPUT'],
      ['http://user:password@127.0.0.1', 'BAD_USER_INPUT'],
    ] as const)
      expect(codeOf(await create({ issuer: given })), given).to.equal(code);
    expect(textAt(await create({}), 'errors.0.message')).to.match(/auth_uri is missing/);
  });

  it('is read for nobody but who may add it', async () => {
    const { issuer } = started.provider;
    expect(codeOf(await create({ issuer }, started.fixture.root))).to.equal('PERMISSION_DENIED');
    expect(started.provider.discoveryReads).to.equal(0);
  });

  it('is added in the console, which says what is wrong in the words of its form', async () => {
    const { issuer } = started.provider;
    const pxadmin = new ConsoleBrowser(started.fixture.web);
    await pxadmin.signIn('0', 'pxadmin', PXADMIN_PASSWORD);
    const send = async (values: Readonly<Record<string, string>>): Promise<string> => {
      const given = { name: 'By form', auth_uri: '', token_uri: '', jwks_uri: '', ...values };
      const response = await pxadmin.post(`${PAGE}/provider`, { ...given, csrf: await pxadmin.csrf(PAGE) });
      return response.status === 303 ? pxadmin.page(response.headers.get('location') ?? '') : response.text();
    };
    const folded = '<details><summary>Enter its endpoints yourself';
    expect(await pxadmin.page(PAGE)).to.include(folded);
    started.provider.misbehavior = {};
    expect(await send({ issuer }))
      .to.include('<a href="#issuer">Issuer</a>: There is no discovery document at ')
      .and.include('<details open><summary>')
      .and.include(`value="${issuer}"`);
    started.provider.misbehavior = { discovery: { '': documented() } };
    const page = await send({ issuer });
    expect(page).to.include('By form').and.include(folded);
    for (const address of Object.values(endpoints()))
      expect(page).to.include(`<code>${String(address)}</code>`);
  });
});
