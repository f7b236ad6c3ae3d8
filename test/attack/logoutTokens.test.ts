import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import { HttpBrowser } from '../api/oidc/support/httpBrowser.js';
import { MisbehavingProvider, type Misbehavior } from '../api/oidc/support/misbehavingProvider.js';
import { CLIENT, OidcFixture } from '../api/oidc/support/oidcFixture.js';
import { at, textAt, WebFixture, type AuthBody } from '../api/webFixture.js';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const EVENTS = { [EVENT]: {} };
const OTHER_CLIENT = { client_id: 'another', client_secret: 'another secret' };
/** Of one address in a minute. */
const REFUSED_PER_MINUTE = 60;

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

describe('attack: logout tokens that end sessions of others, or that end none', () => {
  let fixture: OidcFixture;
  let other: WebFixture;
  let provider: MisbehavingProvider;
  let evil: MisbehavingProvider;
  let confid: number;
  let otherConfid: number;
  let roleid: number;
  let addresses = 0;
  const env = { SIGN_INS_PER_ADDRESS: '0', TRUST_PROXY: '1' };

  before(async () => {
    fixture = await OidcFixture.start({ env });
    other = await WebFixture.start({ env, beside: fixture.web });
    [provider, evil] = await Promise.all([MisbehavingProvider.start(), MisbehavingProvider.start()]);
    const create = (of: MisbehavingProvider): Promise<number> =>
      fixture.createProvider({ ...of.endpoints, issuer: of.issuer });
    const providerid = await create(provider);
    confid = await fixture.createConfig(providerid);
    otherConfid = await fixture.createConfig(providerid, OTHER_CLIENT);
    await fixture.createConfig(await create(evil));
    roleid = await fixture.createMappedRole('somebody', confid, 'somebody');
    await fixture.map(roleid, otherConfid, 'somebody');
  });
  after(async () => {
    await Promise.all([provider.stop(), evil.stop()]);
    await other.stop();
    await fixture.stop();
  });
  afterEach(() => {
    provider.misbehavior = {};
    evil.misbehavior = {};
  });

  const newAddress = (): string => `198.18.${Math.floor((addresses += 1) / 250)}.${addresses % 250}`;

  async function send(token: string, address = newAddress(), web = fixture.web): Promise<[number, unknown]> {
    const response = await web.fetch('/oidc/backchannel', {
      method: 'POST',
      headers: { 'x-forwarded-for': address },
      body: new URLSearchParams({ logout_token: token }),
    });
    expect(response.headers.get('cache-control')).to.equal('no-store');
    return [response.status, at(await response.json(), 'code')];
  }

  const right = (more: Readonly<Record<string, unknown>> = {}): JWTPayload => ({
    iss: provider.issuer,
    aud: CLIENT.client_id,
    iat: nowSeconds(),
    exp: nowSeconds() + 120,
    jti: randomUUID(),
    events: EVENTS,
    ...more,
  });

  async function signed(claims: JWTPayload, misbehavior: Misbehavior = {}, by = provider): Promise<string> {
    const before = by.misbehavior;
    by.misbehavior = misbehavior;
    const token = await by.sign(claims);
    by.misbehavior = before;
    return token;
  }

  async function signIn(sid?: string, through = confid, ofRole = roleid): Promise<AuthBody> {
    provider.misbehavior = sid === undefined ? {} : { claims: { sid } };
    return fixture.readAuthBody(await fixture.signIn(ofRole, through));
  }

  async function opens({ access_token }: AuthBody, web = fixture.web): Promise<boolean> {
    const headers = { authorization: `Bearer ${access_token}` };
    return (await web.fetch('/query?query={__typename}', { headers })).status === 200;
  }

  const pass = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_000));

  it('are right when nothing is wrong: the session ends in all processes, and after a restart', async () => {
    const [ended, stays, elsewhere] = [await signIn('a'), await signIn('b'), await signIn('a', otherConfid)];
    for (const web of [fixture.web, other]) expect(await opens(ended, web)).to.equal(true);
    expect(await send(await signed(right({ sid: 'a', sub: 'somebody' })))).to.deep.equal([200, undefined]);
    expect(await opens(ended)).to.equal(false);
    await pass();
    const restarted = await WebFixture.start({ env, beside: fixture.web });
    for (const web of [fixture.web, other, restarted]) {
      expect(await opens(ended, web)).to.equal(false);
      expect(await opens(stays, web), 'another session at the provider').to.equal(true);
      expect(await opens(elsewhere, web), 'that of another client').to.equal(true);
      const headers = { authorization: `Bearer ${ended.refresh_token}` };
      expect((await web.fetch('/auth', { headers })).status).to.equal(401);
    }
    await restarted.stop();
    const ofPerson = right({ sub: 'somebody', iat: nowSeconds() - 1 });
    expect(await send(await signed(ofPerson))).to.deep.equal([200, undefined]);
    expect(await opens(stays), 'all of the person').to.equal(false);
    expect(await opens(elsewhere)).to.equal(true);
  });

  /** Claims that are wrong; undefined leaves one out. */
  const WRONG: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    'another issuer': { iss: 'https://other.example' },
    'no issuer': { iss: undefined },
    'an unknown client': { aud: 'unknown' },
    'no client': { aud: undefined },
    'a client that is no text': { aud: [1] },
    'too many clients': {
      aud: Array.from({ length: 50 }, (_, n) => (n === 0 ? CLIENT.client_id : String(n))),
    },
    'no time': { iat: undefined },
    'an old time': { iat: nowSeconds() - 3_600 },
    'a time to come': { iat: nowSeconds() + 3_600, exp: nowSeconds() + 7_200 },
    'an end that is over': { exp: nowSeconds() - 3_600 },
    'no jti': { jti: undefined },
    'an empty jti': { jti: '' },
    'a jti that is no text': { jti: 7 },
    'no events': { events: undefined },
    'events as a list': { events: [EVENT] },
    'another event': { events: { 'http://schemas.openid.net/event/other': {} } },
    'an event that is no object': { events: { [EVENT]: true } },
    'an inherited event': { events: { __proto__: { [EVENT]: {} } } },
    'the nonce of an ID token': { nonce: 'n' },
    'a nonce that is null': { nonce: null },
    'neither sid nor sub': { sid: undefined, sub: undefined },
    'an empty sub': { sub: '', sid: undefined },
    'a sid that is no text': { sid: { toString: 'x' } },
  };
  for (const [what, claims] of Object.entries(WRONG)) {
    it(`have ${what}`, async () => {
      const session = await signIn('wrong');
      const token = await signed(right({ sid: 'wrong', sub: 'somebody', ...claims }));
      expect(await send(token)).to.deep.equal([400, 'OIDC_LOGOUT_TOKEN_INVALID']);
      expect(await opens(session)).to.equal(true);
    });
  }

  for (const signature of ['other key', 'none', 'HS256 with the public key'] as const) {
    it(`are signed with ${signature}`, async () => {
      const session = await signIn('forged');
      const token = await signed(right({ sid: 'forged' }), { signature });
      expect(await send(token)).to.deep.equal([400, 'OIDC_LOGOUT_TOKEN_INVALID']);
      expect(await opens(session)).to.equal(true);
    });
  }

  it("are another provider's, in its own name or that of this one", async () => {
    const session = await signIn('mixed');
    const inItsName = await signed(right({ iss: evil.issuer, sid: 'mixed', sub: 'somebody' }), {}, evil);
    expect((await send(inItsName))[0], 'which is about its own sessions').to.equal(200);
    expect(await send(await signed(right({ sid: 'mixed' }), {}, evil))).to.deep.equal([
      400,
      'OIDC_LOGOUT_TOKEN_INVALID',
    ]);
    expect(await opens(session)).to.equal(true);
  });

  it("are another tenant's", async () => {
    const session = await signIn('tenant');
    const theirs = await fixture.web.createTenant('theirs');
    const root = (await fixture.web.signIn(theirs.tenantid)).access_token;
    const [{ providerid } = { providerid: 0 }] = at(
      await fixture.web.control(fixture.root, `{ oidc_config(filter: "confid = ${confid}") { providerid } }`),
      'data.oidc_config',
    ) as { providerid: number }[];
    const client = { client_id: 'theirs', client_secret: 'x' };
    const made = await fixture.web.control(
      root,
      'mutation ($input: oidc_configInput) { create_oidc_config(input: $input) { confid } }',
      { input: { providerid, ...client } },
    );
    textAt(made, 'data.create_oidc_config.confid');
    const token = await signed(right({ aud: client.client_id, sid: 'tenant', sub: 'somebody' }));
    expect((await send(token))[0]).to.equal(200);
    expect(await opens(session)).to.equal(true);
  });

  it('are of a provider that is there twice: the sessions through both end', async () => {
    const client = { client_id: 'shared', client_secret: 'shared secret' };
    const sessions: AuthBody[] = [];
    for (let n = 0; n < 2; n += 1) {
      const providerid = await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer });
      const through = await fixture.createConfig(providerid, client);
      await fixture.map(roleid, through, 'somebody');
      sessions.push(await signIn('twice', through));
    }
    expect((await send(await signed(right({ aud: client.client_id, sid: 'twice' }))))[0]).to.equal(200);
    for (const session of sessions) expect(await opens(session)).to.equal(false);
  });

  it('are about thousands of sessions, which end in parts', async () => {
    const SESSIONS = 2_500;
    await signIn('many');
    const { pool } = fixture.web.testDatabase.database;
    const countOf = async (sql: string): Promise<number> =>
      (await pool.query<{ count: number }>(sql, [confid])).rows[0]?.count ?? 0;
    await pool.query(
      `insert into rowpost.session (tenantid, roleid, confid, browser, address, state_ms, expires, provider_sid)
       select tenantid, roleid, confid, browser, address, state_ms, expires, sha256('many')
       from rowpost.session s, generate_series(2, $2) where s.confid = $1 and provider_sid = sha256('many')`,
      [confid, SESSIONS],
    );
    await pool.query('delete from rowpost.sign_in_event');
    expect((await send(await signed(right({ sid: 'many' }))))[0]).to.equal(200);
    const open = `select count(*)::int from rowpost.session
      where confid = $1 and provider_sid = sha256('many') and ended is null`;
    expect(await countOf(open)).to.equal(0);
    const noted = `select sum(count)::int as count from rowpost.sign_in_event where kind = 'signed_out' and confid = $1`;
    expect(await countOf(noted)).to.equal(SESSIONS);
  });

  it('are ID tokens, which browsers know', async () => {
    const session = await signIn('id');
    const idToken = await signed(right({ sid: 'id', sub: 'somebody', nonce: 'n', events: undefined }));
    expect((await send(idToken))[0]).to.equal(400);
    expect(await opens(session)).to.equal(true);
  });

  it('come again, in any process: a person who has signed in since stays', async () => {
    await signIn('again');
    const token = await signed(right({ sub: 'somebody', iat: nowSeconds() - 5 }));
    expect((await send(token))[0]).to.equal(200);
    const since = await signIn('later');
    for (const web of [fixture.web, other])
      expect(await send(token, newAddress(), web)).to.deep.equal([400, 'OIDC_LOGOUT_TOKEN_INVALID']);
    expect(await opens(since)).to.equal(true);
  });

  it('came to a process that died before it ended the sessions: the next attempt does', async () => {
    const session = await signIn('crashed');
    const claims = right({ sid: 'crashed' });
    const token = await signed(claims);
    const { pool } = fixture.web.testDatabase.database;
    expect((await send(token))[0]).to.equal(200);
    await pool.query('update rowpost.oidc_logout set done = false');
    await pool.query('update rowpost.session set ended = null where roleid = $1', [roleid]);
    expect((await send(token))[0]).to.equal(200);
    expect(await opens(session)).to.equal(false);
  });

  for (const kind of ['sid', 'sub'] as const) {
    it(`come before the sign-in is complete, with ${kind}`, async () => {
      const who = `early-${kind}`;
      const ofRole = await fixture.createMappedRole(who, confid, who);
      provider.misbehavior = { nextPerson: () => ({ sub: who, sid: who }) };
      const browser = new HttpBrowser();
      const { url } = await browser.follow(
        await fixture.begin(browser, ofRole, confid),
        (next) => !next.startsWith(fixture.baseUrl),
      );
      const iat = nowSeconds() + 5;
      expect((await send(await signed(right({ [kind]: who, iat }))))[0]).to.equal(200);
      const response = await browser.send(url);
      expect([response.status, at(await response.json(), 'code')]).to.deep.equal([403, 'OIDC_LOGIN_REFUSED']);
    });
  }

  it('are huge', async () => {
    const session = await signIn('huge');
    const token = await signed(right({ sid: 'huge', padding: 'x'.repeat(20_000) }));
    expect(await send(token)).to.deep.equal([400, 'OIDC_LOGOUT_TOKEN_INVALID']);
    expect((await send('x'.repeat(40_000)))[0]).to.equal(413);
    for (const odd of ['', '.', '..', 'a.b.c', 'a.b.c.d.e', 'a.'.repeat(1_000)])
      expect((await send(odd))[0]).to.equal(400);
    expect(await opens(session)).to.equal(true);
  });

  it('come in floods: the provider is not asked for its keys each time, and its own tokens still count', async () => {
    const session = await signIn('flood');
    const flooding = newAddress();
    const before = provider.jwksReads;
    const statuses = new Map<number, number>();
    for (let n = 0; n < REFUSED_PER_MINUTE + 20; n += 1) {
      const token = await signed(right({ sid: 'flood' }), { header: { alg: 'RS256', kid: `made up ${n}` } });
      // Half of them from anywhere.
      const [status] = await send(token.slice(0, -8) + 'AAAAAAAA', n % 2 === 0 ? newAddress() : flooding);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    for (let n = 0; n < REFUSED_PER_MINUTE; n += 1) await send('a.b.c', flooding);
    expect([...statuses]).to.deep.equal([[400, REFUSED_PER_MINUTE + 20]]);
    expect(provider.jwksReads - before).to.be.at.most(1);
    expect(await send('a.b.c', flooding)).to.deep.equal([429, 'RATE_LIMITED']);
    expect((await send(await signed(right({ sid: 'flood' }))))[0]).to.equal(200);
    expect(await opens(session)).to.equal(false);
  });

  it('are refused ones of many clients, sent from one address: those of others still count', async () => {
    const session = await signIn('hosted');
    const hosted = newAddress();
    for (let n = 0; n < REFUSED_PER_MINUTE + 5; n += 1)
      await send(await signed(right({ aud: 'a client that nobody knows', sid: 'hosted' })), hosted);
    const unknown = await signed(right({ aud: 'a client that nobody knows', sid: 'hosted' }));
    expect(await send(unknown, hosted)).to.deep.equal([429, 'RATE_LIMITED']);
    expect((await send(await signed(right({ sid: 'hosted' })), hosted))[0]).to.equal(200);
    expect(await opens(session)).to.equal(false);
  });

  it('are too many for one client of a hundred configurations, which each note them', async () => {
    const client = { client_id: 'hoarder', client_secret: 'x' };
    const providerid = await fixture.createProvider({ ...evil.endpoints, issuer: evil.issuer });
    for (let n = 0; n < 90; n += 1) await fixture.createConfig(providerid, client);
    const { pool } = fixture.web.testDatabase.database;
    const noted = async (): Promise<number> =>
      (
        await pool.query<{ count: number }>(
          'select count(*)::int as count from rowpost.oidc_logout l join rowpost.oidc_config c using (confid) where c.providerid = $1',
          [providerid],
        )
      ).rows[0]!.count;
    const statuses = new Set<number>();
    const claims = { iss: evil.issuer, aud: client.client_id };
    for (let n = 0; n < 240; n += 1) {
      const token = await signed(right({ ...claims, sid: `person ${n}` }), {}, evil);
      statuses.add((await send(token))[0]);
    }
    expect([...statuses]).to.deep.equal([200, 429]);
    expect(await noted())
      .to.be.greaterThan(10_000)
      .and.at.most(20_000);
    expect((await send(await signed(right({ sid: 'of another provider' }))))[0]).to.equal(200);
  });

  it('name clients that differ each time, beside a real one or in their issuer: they are refused all the same', async () => {
    for (const [what, claims] of [
      ['another client beside it', (n: number) => ({ aud: [CLIENT.client_id, `made up ${n}`] })],
      [
        'the same one several times',
        (n: number) => ({ aud: Array<string>(1 + (n % 10)).fill(CLIENT.client_id) }),
      ],
      ['unknown clients', (n: number) => ({ aud: `made up ${n}` })],
      ['unknown issuers', (n: number) => ({ iss: `https://${n}.example` })],
    ] as const) {
      const flooding = newAddress();
      const statuses: number[] = [];
      for (let n = 0; n < REFUSED_PER_MINUTE + 5; n += 1) {
        const token = await signed(right({ sid: 'varied', ...claims(n) }));
        statuses.push((await send(`${token.slice(0, -8)}AAAAAAAA`, flooding))[0]);
      }
      expect(
        statuses.filter((status) => status !== 400),
        what,
      ).to.deep.equal(Array<number>(5).fill(429));
    }
  });

  it("are those of a client that another tenant's configurations name, a hundred times: all of them still count", async () => {
    const client = { client_id: 'coveted', client_secret: 'x' };
    const providerid = await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer });
    const through = await fixture.createConfig(providerid, client);
    const person = await fixture.createMappedRole('coveted', through, 'coveted');
    const covetous = await fixture.web.createTenant('covetous');
    const root = (await fixture.web.signIn(covetous.tenantid)).access_token;
    const creates = Array.from(
      { length: 25 },
      (_, n) => `c${n}: create_oidc_config(input: $input) { confid }`,
    );
    for (let n = 0; n < 100; n += creates.length) {
      const made = await fixture.web.control(
        root,
        `mutation ($input: oidc_configInput) { ${creates.join(' ')} }`,
        { input: { providerid, ...client } },
      );
      expect(made.errors).to.equal(undefined);
    }
    const claims = { aud: client.client_id };
    const statuses = new Set<number>();
    for (let n = 0; n < 210; n += 1)
      statuses.add((await send(await signed(right({ ...claims, sid: `colleague ${n}` }))))[0]);
    expect([...statuses]).to.deep.equal([200]);
    provider.misbehavior = { claims: { sid: 'coveted', sub: 'coveted' } };
    const session = await fixture.readAuthBody(await fixture.signIn(person, through));
    expect(await send(await signed(right({ ...claims, sid: 'coveted' })))).to.deep.equal([200, undefined]);
    expect(await opens(session)).to.equal(false);
  });

  it('have expired, a great many of them: they are deleted in parts', async () => {
    const { pool } = fixture.web.testDatabase.database;
    const count = async (): Promise<number> =>
      (
        await pool.query<{ count: number }>(
          'select count(*)::int as count from rowpost.oidc_logout where expires < now()',
        )
      ).rows[0]!.count;
    await pool.query(
      `insert into rowpost.oidc_logout (confid, jti_hash, issued, expires)
       select $1, sha256(n::text::bytea), now(), now() - interval '1 second' from generate_series(1, 3500) n`,
      [confid],
    );
    const before = await count();
    for (const left of [before - 1_000, before - 2_000]) {
      expect((await send(await signed(right({ sid: 'somebody else' }))))[0]).to.equal(200);
      expect(await count()).to.equal(left);
    }
    await pool.query('delete from rowpost.oidc_logout where expires < now()');
  });

  it('are many, of a provider that signs a whole company out', async () => {
    const address = newAddress();
    for (let n = 0; n < 2 * REFUSED_PER_MINUTE; n += 1)
      expect((await send(await signed(right({ sid: `person ${n}` })), address))[0]).to.equal(200);
  });
});

describe('attack: sign-outs by others, and where they lead', () => {
  let fixture: OidcFixture;
  before(async () => (fixture = await OidcFixture.start()));
  after(() => fixture.stop());

  it('need a token', async () => {
    const without: Record<string, string>[] = [{}, { authorization: 'Bearer x' }];
    for (const headers of without) {
      const response = await fixture.web.fetch('/oidc/logout', { method: 'POST', headers });
      expect(response.status).to.be.oneOf([401, 422]);
    }
  });

  it('return to no other address, whatever the state says', async () => {
    for (const state of [
      'https://evil.example',
      '1-https://evil.example',
      '1-AAAA',
      `1-${'A'.repeat(100)}`,
      '',
    ]) {
      const response = await fixture.web.fetch(`/oidc/logout?${new URLSearchParams({ state }).toString()}`, {
        redirect: 'manual',
      });
      expect([response.status, response.headers.get('location')]).to.deep.equal([200, null]);
    }
    const response = await fixture.web.postJson(
      '/oidc/logout',
      { return_to: 'https://evil.example/' },
      { authorization: `Bearer ${fixture.root}` },
    );
    expect(at(await response.json(), 'code')).to.equal('OIDC_RETURN_TO_REFUSED');
    expect((await fixture.web.control(fixture.root, '{ role { roleid } }')).errors).to.equal(undefined);
  });

  it('end only the session of the token', async () => {
    const { tenantid } = fixture.tenant;
    const [ended, stays] = [await fixture.web.signIn(tenantid), await fixture.web.signIn(tenantid)];
    const authorization = `Bearer ${ended.refresh_token}`;
    const response = await fixture.web.fetch('/oidc/logout', { method: 'POST', headers: { authorization } });
    expect(await response.json()).to.deep.equal({ ended: true, logout_url: null });
    expect((await fixture.web.control(stays.access_token, '{ role { roleid } }')).errors).to.equal(undefined);
    expect((await fixture.web.fetch('/auth', { headers: { authorization } })).status).to.equal(401);
  });
});
