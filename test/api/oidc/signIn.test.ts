import { expect } from 'chai';
import { createTestTenant } from '../../support/createTestTenant.js';
import { at } from '../webFixture.js';
import { HttpBrowser } from './support/httpBrowser.js';
import { MisbehavingProvider } from './support/misbehavingProvider.js';
import { OidcFixture, type FailureBody } from './support/oidcFixture.js';
import { knexOf } from '../../support/knexOf.js';

const RETURN_TO = 'https://app.example.com/signed-in?theme=dark';

describe('POST /oidc and its callback', () => {
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let providerid: number;
  let confid: number;
  let roleid: number;

  before(async () => {
    fixture = await OidcFixture.start({ env: { OIDC_RETURN_ORIGINS: 'https://app.example.com' } });
    provider = await MisbehavingProvider.start();
    providerid = await fixture.createProvider(provider.endpoints);
    confid = await fixture.createConfig(providerid);
    roleid = await fixture.createMappedRole('somebody', confid, 'somebody');
  });
  beforeEach(() => {
    provider.misbehavior = {};
  });
  after(async () => {
    await provider.stop();
    await fixture.stop();
  });

  const post = (body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(fixture.redirectUri, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ tenantid: fixture.tenant.tenantid, roleid, confid, ...body }),
      redirect: 'manual',
    });

  async function expectFailure(response: Response, status: number, code: string): Promise<FailureBody> {
    const body = (await response.json()) as FailureBody;
    expect(body).to.include({ status, code });
    expect(response.status).to.equal(status);
    return body;
  }

  /** The callback's address, in the browser that may call it. */
  async function untilCallback(more: object = {}): Promise<{ browser: HttpBrowser; callback: string }> {
    const browser = new HttpBrowser();
    const { url } = await browser.follow(
      await fixture.begin(browser, roleid, confid, { ...more }),
      (next) => !next.startsWith(fixture.baseUrl),
    );
    return { browser, callback: url };
  }

  describe('the start', () => {
    it('redirects with 303 and repeats the location in JSON', async () => {
      const response = await post({});
      expect(response.status).to.equal(303);
      const location = response.headers.get('location')!;
      expect(await response.json()).to.deep.equal({ authorization_url: location });
      const { searchParams, origin } = new URL(location);
      expect(origin).to.equal(provider.issuer);
      expect(Object.fromEntries(searchParams)).to.include({
        tenant: 'x',
        response_type: 'code',
        client_id: 'rowpost',
        redirect_uri: fixture.redirectUri,
        scope: 'openid',
        code_challenge_method: 'S256',
      });
      for (const name of ['state', 'nonce', 'code_challenge']) {
        expect(searchParams.get(name), name).to.match(/^[\w-]{43}$/);
      }
    });

    it('responds with 200 to clients that prefer JSON', async () => {
      for (const [accept, status] of [
        ['application/json', 200],
        ['application/json, */*;q=0.5', 200],
        ['*/*', 303],
        ['text/html,application/xhtml+xml,*/*;q=0.8', 303],
        ['*/*, application/json;q=0.5', 303],
      ] as const) {
        const response = await post({}, { accept });
        expect(response.status, accept).to.equal(status);
        expect(at(await response.json(), 'authorization_url')).to.be.a('string');
      }
    });

    it('accepts ids as text, and forms', async () => {
      const form = new URLSearchParams({
        tenantid: String(fixture.tenant.tenantid),
        roleid: String(roleid),
        confid: String(confid),
      });
      const response = await fetch(fixture.redirectUri, { method: 'POST', body: form, redirect: 'manual' });
      expect(response.status).to.equal(303);
    });

    it("sets a cookie for this sign-in that scripts and other sites can't read", async () => {
      const [cookie] = (await post({})).headers.getSetCookie();
      expect(cookie).to.match(
        /^rowpost_oidc_[0-9a-f]{16}=[\w-]{43}; Max-Age=600; Path=\/; .*HttpOnly; SameSite=Lax$/,
      );
    });

    it('stores no state, cookie or verifier in plain text', async () => {
      const response = await post({});
      const [cookie] = response.headers.getSetCookie();
      const knex = knexOf(fixture.web.testDatabase.database);
      const rows = JSON.stringify(await knex('rowpost.oidc_sign_in').select());
      expect(rows).not.to.include(new URL(response.headers.get('location')!).searchParams.get('state')!);
      expect(rows).not.to.include(/=([\w-]{43});/.exec(cookie!)![1]!);
    });

    it('refuses an unknown confid, with a hint when a providerid was given', async () => {
      const unknown = await expectFailure(await post({ confid: 999_999 }), 404, 'OIDC_CONFID_NOT_FOUND');
      expect(unknown.error).to.include('999999');
      const mistaken = await expectFailure(await post({ confid: providerid }), 404, 'OIDC_CONFID_NOT_FOUND');
      expect(mistaken.error).to.include('number of a provider');
    });

    it("refuses another tenant's confid", async () => {
      const other = await createTestTenant(fixture.web.testDatabase.database.pool, {
        name: 'other',
        rootLogin: 'root',
        rootPassword: 'correct horse',
      });
      const response = await post({ tenantid: other.tenantid, roleid: other.rootRoleid });
      await expectFailure(response, 404, 'OIDC_CONFID_NOT_FOUND');
    });

    it('refuses unmapped, missing and deleted roles identically', async () => {
      const { roleid: unmapped } = await fixture.web.createMember(fixture.root, 'unmapped', ['login']);
      const deleted = await fixture.createMappedRole('deleted', confid, 'deleted');
      await fixture.web.control(fixture.root, `mutation { delete_role(roleid: ${deleted}) { roleid } }`);
      for (const id of [unmapped, deleted, 999_999]) {
        const body = await expectFailure(await post({ roleid: id }), 403, 'OIDC_ROLE_NOT_MAPPED');
        expect(body.error.replace(String(id), 'N')).to.match(/^Role N can't sign in/);
      }
    });

    it('rejects ids that are not numbers', async () => {
      for (const body of [
        { tenantid: 'x' },
        { roleid: null },
        { confid: '1; drop table' },
        { confid: 2 ** 40 },
      ]) {
        await expectFailure(await post(body), 400, 'BAD_REQUEST');
      }
    });

    it('refuses return_to origins that are not allowed', async () => {
      for (const return_to of [
        'https://evil.example/',
        'https://app.example.com.evil.example/',
        'https://app.example.com@evil.example/',
        'http://app.example.com/',
        'javascript:alert(1)',
        '/relative',
        7,
      ]) {
        await expectFailure(await post({ return_to }), 400, 'OIDC_RETURN_TO_REFUSED');
      }
    });
  });

  describe('the callback', () => {
    it('requires the cookie of the browser that started the sign-in', async () => {
      const mine = await untilCallback();
      const another = await untilCallback();
      const guessing = mine.browser.copy(() => 'guessed');
      for (const browser of [new HttpBrowser(), another.browser, guessing]) {
        await expectFailure(await browser.send(mine.callback), 400, 'OIDC_STATE_INVALID');
      }
      await fixture.readAuthBody(await another.browser.send(another.callback));
    });

    it('is not used up by a program that follows the link, nor by HEAD', async () => {
      const { browser, callback } = await untilCallback();
      await expectFailure(await new HttpBrowser().send(callback), 400, 'OIDC_STATE_INVALID');
      const head = await browser.send(callback, { method: 'HEAD' });
      expect(head.status).to.equal(405);
      expect(head.headers.get('allow')).to.equal('GET, POST');
      await fixture.readAuthBody(await browser.send(callback));
    });

    it('allows concurrent sign-ins in one browser', async () => {
      const browser = new HttpBrowser();
      const callbacks: string[] = [];
      for (let tab = 0; tab < 2; tab += 1) {
        const begun = await fixture.begin(browser, roleid, confid);
        callbacks.push((await browser.follow(begun, (next) => !next.startsWith(fixture.baseUrl))).url);
      }
      for (const callback of callbacks) await fixture.readAuthBody(await browser.send(callback));
    });

    it('refuses a state that is missing, forged, duplicated, used or expired', async () => {
      const { browser, callback } = await untilCallback();
      const without = new URL(callback);
      without.searchParams.delete('state');
      const madeUp = new URL(callback);
      madeUp.searchParams.set('state', 'made up');
      const twice = new URL(callback);
      twice.searchParams.append('state', 'another');
      for (const url of [without, madeUp, twice]) {
        await expectFailure(await browser.send(url.href), 400, 'OIDC_STATE_INVALID');
      }
      const keepsCookies = browser.copy();
      await fixture.readAuthBody(await browser.send(callback));
      await expectFailure(await browser.send(callback), 400, 'OIDC_STATE_INVALID');
      await expectFailure(await keepsCookies.send(callback), 400, 'OIDC_STATE_INVALID');

      const late = await untilCallback();
      const knex = knexOf(fixture.web.testDatabase.database);
      await knex('rowpost.oidc_sign_in').update({ expires: knex.raw("now() - interval '1 second'") });
      await expectFailure(await late.browser.send(late.callback), 400, 'OIDC_STATE_INVALID');
    });

    it('refuses a sign-in whose key of SECRET_KEYS was removed meanwhile, and no other', async () => {
      const old = await untilCallback();
      const knex = knexOf(fixture.web.testDatabase.database);
      await knex('rowpost.oidc_sign_in').update({
        code_verifier_encrypted: knex.raw("'removed.' || split_part(code_verifier_encrypted, '.', 2)"),
      });
      const current = await untilCallback();
      await expectFailure(await old.browser.send(old.callback), 400, 'OIDC_STATE_INVALID');
      await fixture.readAuthBody(await current.browser.send(current.callback));
    });

    it('refuses a code from another sign-in', async () => {
      const first = await untilCallback();
      const second = await untilCallback();
      const stolen = new URL(second.callback);
      stolen.searchParams.set('code', new URL(first.callback).searchParams.get('code')!);
      await fixture.readAuthBody(await first.browser.send(first.callback));
      await expectFailure(await second.browser.send(stolen.href), 400, 'OIDC_CODE_REFUSED');
    });

    it('notices a mapping changed or a role deleted in the meantime', async () => {
      const leaving = await fixture.createMappedRole('leaving', confid, 'somebody');
      const browser = new HttpBrowser();
      const goOn = (next: string): boolean => !next.startsWith(fixture.baseUrl);
      const { url } = await browser.follow(await fixture.begin(browser, leaving, confid), goOn);
      await fixture.web.control(fixture.root, `mutation { delete_role(roleid: ${leaving}) { roleid } }`);
      await expectFailure(await browser.send(url), 403, 'OIDC_ROLE_NOT_MAPPED');
    });

    it('requires the login capability', async () => {
      const { roleid: mute } = await fixture.web.createMember(fixture.root, 'mute', ['select']);
      await fixture.map(mute, confid, 'somebody');
      await expectFailure(await fixture.signIn(mute, confid), 403, 'PERMISSION_DENIED');
    });

    it('passes the tokens to return_to in the fragment, leaving the rest of the URL unchanged', async () => {
      const { browser, callback } = await untilCallback({ return_to: RETURN_TO });
      const response = await browser.send(callback);
      expect(response.status).to.equal(303);
      const [address, fragment] = response.headers.get('location')!.split('#');
      expect(address).to.equal(RETURN_TO);
      const values = new URLSearchParams(fragment);
      expect(values.get('roleid')).to.equal(String(roleid));
      const { data } = await fixture.web.control(values.get('access_token')!, '{ role { roleid } }');
      expect(data).to.deep.equal({ role: [{ roleid: String(roleid) }] });
    });

    it('reports a failure to return_to', async () => {
      provider.misbehavior = { claims: { sub: 'someone else' } };
      const { browser, callback } = await untilCallback({ return_to: RETURN_TO });
      const fragment = (await browser.send(callback)).headers.get('location')!.split('#')[1];
      expect(new URLSearchParams(fragment).get('error')).to.equal('OIDC_IDENTITY_MISMATCH');
    });

    it('clears its cookie', async () => {
      const { browser, callback } = await untilCallback();
      const [cookie] = (await browser.send(callback)).headers.getSetCookie();
      expect(cookie).to.match(/^rowpost_oidc_[0-9a-f]{16}=; .*Expires=Thu, 01 Jan 1970/);
    });
  });

  it('deletes abandoned sign-ins', async () => {
    const knex = knexOf(fixture.web.testDatabase.database);
    await post({});
    await knex('rowpost.oidc_sign_in').update({ expires: knex.raw("now() - interval '1 second'") });
    await post({});
    expect(await knex('rowpost.oidc_sign_in').select('confid')).to.have.length(1);
  });

  it('responds with 405 to other methods', async () => {
    const response = await fetch(fixture.redirectUri, { method: 'PUT' });
    expect(response.status).to.equal(405);
    expect(response.headers.get('allow')).to.equal('GET, POST');
  });
});
