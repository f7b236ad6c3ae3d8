import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { HttpBrowser } from '../api/oidc/support/httpBrowser.js';
import { MisbehavingProvider } from '../api/oidc/support/misbehavingProvider.js';
import { OidcFixture, type FailureBody, type ProviderInput } from '../api/oidc/support/oidcFixture.js';
import { at } from '../api/webFixture.js';
import { joinDirectory } from '../../src/db/cells/directory/cells.js';
import { migrateDirectory, openDirectory, type Directory } from '../../src/db/cells/directory/directory.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { knexOf } from '../support/knexOf.js';

/**
 * RFC 9700, 4.4. The attacker's own provider sends the browser on to the honest one, with the client id of the victim's tenant.
 * The honest provider, where the victim is signed in, responds with a code, which must never reach the attacker's token endpoint.
 */
describe("attack: another provider's code, by mixing up providers", () => {
  let fixture: OidcFixture;
  let honest: MisbehavingProvider;
  let evil: MisbehavingProvider;

  const start = (): Promise<OidcFixture> =>
    OidcFixture.start({ env: { OIDC_RETURN_ORIGINS: 'https://app.example.com' } });
  before(async () => (fixture = await start()));
  after(() => fixture.stop());
  beforeEach(async () => {
    const knex = knexOf(fixture.web.testDatabase.database);
    for (const table of ['oidc_sign_in', 'oidc_config', 'oidc_providers'])
      await knex(`rowpost.${table}`).delete();
    [honest, evil] = await Promise.all([MisbehavingProvider.start(), MisbehavingProvider.start()]);
  });
  afterEach(() => Promise.all([honest.stop(), evil.stop()]));

  interface Setup {
    readonly providerid: number;
    readonly confid: number;
    readonly roleid: number;
    readonly redirectUri: string;
  }

  async function setUp(
    provider: MisbehavingProvider,
    more: Partial<ProviderInput> = {},
    cell = fixture,
  ): Promise<Setup> {
    const providerid = await cell.createProvider({
      ...provider.endpoints,
      issuer: provider.issuer,
      ...more,
    });
    const confid = await cell.createConfig(providerid);
    const roleid = await cell.createMappedRole(`role ${confid}`, confid, 'somebody');
    return { providerid, confid, roleid, redirectUri: await redirectUriOf(confid, cell) };
  }

  async function redirectUriOf(confid: number, cell = fixture): Promise<string> {
    const listed = await cell.web.control(
      cell.root,
      `{ oidc_config(filter: "confid = ${confid}") { redirect_uri } }`,
    );
    return String(at(listed, 'data.oidc_config.0.redirect_uri'));
  }

  /** Begins at the attacker's provider, and comes back from the honest one. @returns the code of the failure */
  async function mixUp(attacker: Setup, redirectUri: string): Promise<string> {
    const browser = new HttpBrowser();
    const begun = new URL(await fixture.begin(browser, attacker.roleid, attacker.confid));
    const detour = new URL(honest.endpoints.auth_uri);
    detour.search = begun.search;
    detour.searchParams.set('redirect_uri', redirectUri);
    const { url } = await browser.follow(detour.href, (next) => !next.startsWith(fixture.baseUrl));
    const response = await browser.send(url);
    return response.status === 200 ? 'signed in' : ((await response.json()) as FailureBody).code;
  }

  const received = (): string => evil.lastForm.get('code') ?? 'nothing';
  const promise = (provider: MisbehavingProvider): object => ({
    issuer: provider.issuer,
    jwks_uri: provider.endpoints.jwks_uri,
    authorization_response_iss_parameter_supported: true,
  });

  it('fails where neither sends iss, whichever of them was there first', async () => {
    const first = await setUp(honest);
    const second = await setUp(evil);
    expect(first.redirectUri).to.equal(fixture.redirectUri);
    expect(second.redirectUri).to.equal(`${fixture.redirectUri}/${second.confid}`);
    for (const redirectUri of [first.redirectUri, second.redirectUri]) {
      const outcome = await mixUp(second, redirectUri);
      // Its own redirect URI is not registered with the honest provider; that this one doesn't check it must not be enough.
      if (redirectUri === first.redirectUri) expect(outcome).to.equal('OIDC_STATE_INVALID');
    }
    // Each still signs in.
    for (const { roleid, confid } of [first, second]) {
      await fixture.readAuthBody(await fixture.signIn(roleid, confid));
    }
  });

  it('fails where the attacker has the plain redirect URI', async () => {
    const attacker = await setUp(evil);
    const victim = await setUp(honest);
    expect(await mixUp(attacker, victim.redirectUri)).to.equal('OIDC_STATE_INVALID');
    expect(received()).to.equal('nothing');
    // The sign-in is used up.
    expect(await knexOf(fixture.web.testDatabase.database)('rowpost.oidc_sign_in').select()).to.deep.equal(
      [],
    );
  });

  it('fails where the attacker promises iss to get the plain redirect URI', async () => {
    const victim = await setUp(honest);
    evil.misbehavior = { discovery: { '': promise(evil) } };
    const attacker = await setUp(evil);
    expect(attacker.redirectUri).to.equal(victim.redirectUri);
    expect(await mixUp(attacker, victim.redirectUri)).to.equal('OIDC_PROVIDER_ERROR');
    expect(received()).to.equal('nothing');
    // Not even once it takes the promise back, or changes its addresses.
    evil.misbehavior = {};
    const update = (input: string): Promise<unknown> =>
      fixture.web.control(
        fixture.pxadmin,
        `mutation { update_oidc_providers(providerid: ${attacker.providerid}, input: {${input}}) { name } }`,
      );
    await update('name: "renamed"');
    expect(await mixUp(attacker, victim.redirectUri)).to.equal('OIDC_PROVIDER_ERROR');
    expect(received()).to.equal('nothing');
  });

  it('fails where the honest provider sends iss', async () => {
    const attacker = await setUp(evil);
    honest.misbehavior = { discovery: { '': promise(honest) } };
    const victim = await setUp(honest);
    expect(victim.redirectUri).to.equal(attacker.redirectUri);
    honest.misbehavior = { ...honest.misbehavior, callback: { code: 'stolen', iss: honest.issuer } };
    expect(await mixUp(attacker, victim.redirectUri)).to.equal('OIDC_PROVIDER_ERROR');
    expect(received()).to.equal('nothing');
  });

  it('fails by a change of the token endpoint, which gives up a shared redirect URI', async () => {
    const first = await setUp(honest);
    const second = await setUp(honest);
    expect(second.redirectUri).to.equal(first.redirectUri);
    await fixture.web.control(
      fixture.pxadmin,
      `mutation { update_oidc_providers(providerid: ${second.providerid}, input: {token_uri: "${evil.endpoints.token_uri}"}) { name } }`,
    );
    expect(await redirectUriOf(second.confid)).to.equal(`${fixture.redirectUri}/${second.confid}`);
    expect(await redirectUriOf(first.confid)).to.equal(fixture.redirectUri);
    expect(await mixUp(second, first.redirectUri)).to.equal('OIDC_STATE_INVALID');
    expect(received()).to.equal('nothing');
  });

  it('fails by changing the provider while the victim is at the honest one', async () => {
    const victim = await setUp(honest);
    const browser = new HttpBrowser();
    const { url } = await browser.follow(
      await fixture.begin(browser, victim.roleid, victim.confid),
      (next) => !next.startsWith(fixture.baseUrl),
    );
    const knex = knexOf(fixture.web.testDatabase.database);
    await knex('rowpost.oidc_providers').update({ token_uri: evil.endpoints.token_uri });
    const response = await browser.send(url);
    expect(((await response.json()) as FailureBody).code).to.equal('OIDC_STATE_INVALID');
    expect(received()).to.equal('nothing');
  });

  it('is not shared by two that choose at once', async () => {
    const providers = [];
    for (const provider of [honest, evil]) {
      providers.push(await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer }));
    }
    const confids = await Promise.all(providers.map((providerid) => fixture.createConfig(providerid)));
    const uris = await Promise.all(confids.map((confid) => redirectUriOf(confid)));
    expect(uris.filter((uri) => uri === fixture.redirectUri)).to.have.length(1);
  });

  it('leaves the plain redirect URI with a provider that moves to another token endpoint', async () => {
    const only = await setUp(honest);
    await fixture.web.control(
      fixture.pxadmin,
      `mutation { update_oidc_providers(providerid: ${only.providerid}, input: {token_uri: "${honest.issuer}/v2/token"}) { name } }`,
    );
    expect(await redirectUriOf(only.confid)).to.equal(fixture.redirectUri);
    expect((await setUp(evil)).redirectUri).not.to.equal(fixture.redirectUri);
    // Until nobody has it any more.
    await fixture.web.control(
      fixture.root,
      `mutation { delete_oidc_config(confid: ${only.confid}) { confid } }`,
    );
    expect((await setUp(evil)).redirectUri).to.equal(fixture.redirectUri);
  });

  it('does not wait for a tenant that keeps its transaction open', async () => {
    const first = await setUp(honest);
    const knex = knexOf(fixture.web.testDatabase.database);
    const { tenantid } = await fixture.web.createTenant('slow');
    const trx = await knex.transaction();
    try {
      await trx('rowpost.oidc_config').insert({
        tenantid,
        providerid: first.providerid,
        client_id: 'x',
        client_secret_encrypted: 'x',
        client_secret_uuid: randomUUID(),
      });
      expect((await setUp(honest)).redirectUri).to.equal(fixture.redirectUri);
      expect((await setUp(evil)).redirectUri).not.to.equal(fixture.redirectUri);
      const made = await fixture.web.control(
        fixture.pxadmin,
        'mutation { create_tenant(input: {name: "new", root_login: "root", root_password: "correct horse battery"}) { name } }',
      );
      expect(made.errors).to.equal(undefined);
    } finally {
      await trx.rollback();
    }
  });

  describe('in two cells, which have one address', () => {
    let directoryDatabase: TestDatabase;
    let directory: Directory;
    let shared: OidcFixture;
    let there: OidcFixture;
    beforeEach(async () => {
      shared = fixture;
      fixture = await start();
      directoryDatabase = await createTestDatabase();
      directory = openDirectory(directoryDatabase.url, 'test', testLog);
      await migrateDirectory(directory);
      there = await OidcFixture.start();
      for (const [idRange, { web }] of [fixture, there].entries()) {
        const cell = { name: `cell${idRange}`, baseUrl: `http://cell${idRange}.example`, idRange };
        await joinDirectory(directory, web.testDatabase.database.pool, cell);
      }
    });
    afterEach(async () => {
      await there.stop();
      await fixture.stop();
      fixture = shared;
      await directory.close();
      await directoryDatabase.drop();
    });

    it('fails where the attacker is in the other', async () => {
      const victim = await setUp(honest);
      expect(victim.redirectUri).to.equal(fixture.redirectUri);
      const attacker = await setUp(evil, {}, there);
      expect(attacker.redirectUri).to.equal(`${there.redirectUri}/${attacker.confid}`);
    });

    it('fails once the victim has moved there, and keeps its redirect URI', async () => {
      const victim = await setUp(honest);
      const [row] = await knexOf(fixture.web.testDatabase.database)('rowpost.oidc_config')
        .where({ confid: victim.confid })
        .delete()
        .returning<{ redirect_uri: string; requires_iss: boolean }[]>(['redirect_uri', 'requires_iss']);
      expect((await setUp(evil)).redirectUri).not.to.equal(fixture.redirectUri);
      const knex = knexOf(there.web.testDatabase.database);
      const providerid = await there.createProvider({ ...honest.endpoints });
      const copied = await knex('rowpost.oidc_config')
        .insert({
          ...row,
          tenantid: there.tenant.tenantid,
          providerid,
          client_id: 'x',
          client_secret_encrypted: 'x',
          client_secret_uuid: randomUUID(),
        })
        .returning('redirect_uri');
      expect(copied).to.deep.equal([{ redirect_uri: '/oidc' }]);
    });
  });

  describe('a sign-in that another site begins', () => {
    const begin = (headers: Readonly<Record<string, string>>, path = '/oidc'): Promise<Response> =>
      fixture.web.fetch(path, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ tenantid: '1', roleid: '1', confid: '1', login: 'x', password: 'y' }),
        redirect: 'manual',
      });

    it('is refused', async () => {
      for (const headers of [
        { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://app.example.com.evil.example' },
      ]) {
        for (const path of ['/oidc', '/signin', '/signin/oidc']) {
          const response = await begin(headers, path);
          expect(response.status, JSON.stringify([path, headers])).to.equal(403);
          expect(response.headers.getSetCookie()).to.deep.equal([]);
        }
      }
    });

    it('is allowed to programs, this service and the origins that get tokens', async () => {
      for (const headers of [
        {},
        { origin: 'https://app.example.com', 'sec-fetch-site': 'cross-site' },
        { origin: fixture.baseUrl, 'sec-fetch-site': 'same-origin' },
        { origin: fixture.web.url },
      ]) {
        const { status } = await begin(headers);
        expect(status, JSON.stringify(headers)).to.equal(404);
      }
    });
  });
});
