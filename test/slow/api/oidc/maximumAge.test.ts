import { expect } from 'chai';
import { waitFor } from '../../../support/waitFor.js';
import { at, codeOf, WebFixture, type AuthBody, type Json } from '../../../api/webFixture.js';
import { HttpBrowser } from '../../../api/oidc/support/httpBrowser.js';
import { startMisbehaving, type MisbehavingFixture } from '../../../api/oidc/support/misbehavingFixture.js';
import type { FailureBody } from '../../../api/oidc/support/oidcFixture.js';

const AGE = 300;
/** As much is tolerated of the provider's clock. */
const TOLERANCE = 60;
const UPDATE = `mutation ($confid: ID!, $input: oidc_configInput) {
  update_oidc_config(confid: $confid, input: $input) { max_session_age prompt } }`;
const seconds = (): number => Math.floor(Date.now() / 1000);

describe('the maximum age of a sign-in at a provider', () => {
  let started: MisbehavingFixture;
  let other: WebFixture;
  before(async () => {
    started = await startMisbehaving({ env: { SIGN_INS_PER_ADDRESS: '0' } });
    other = await WebFixture.start({ beside: started.fixture.web });
    const { fixture, roleid } = started;
    const made = await fixture.web.control(
      fixture.root,
      'mutation ($roleid: ID!, $input: roleInput) { update_role(roleid: $roleid, input: $input) { roleid } }',
      { roleid, input: { capabilities: ['login', 'select', 'create_role'] } },
    );
    expect(made.errors).to.equal(undefined);
  });
  after(async () => {
    await other.stop();
    await started.stop();
  });
  beforeEach(async () => {
    started.provider.misbehavior = {};
    await configure({ max_session_age: AGE, prompt: null });
  });

  async function configure(input: Json): Promise<void> {
    const { fixture, confid } = started;
    expect((await fixture.web.control(fixture.root, UPDATE, { confid, input })).errors).to.equal(undefined);
  }
  const signIn = async (auth_time?: unknown): Promise<AuthBody & FailureBody> => {
    started.provider.misbehavior = { claims: auth_time === undefined ? {} : { auth_time } };
    const response = await started.fixture.signIn(started.roleid, started.confid);
    return (await response.json()) as AuthBody & FailureBody;
  };
  const refresh = (token: string, web = started.fixture.web): Promise<Response> =>
    web.fetch('/auth', { headers: { authorization: `Bearer ${token}` } });
  const opens = async (token: string, web = started.fixture.web): Promise<boolean> => {
    const response = await web.fetch('/query?query={__typename}', {
      headers: { authorization: `Bearer ${token}` },
    });
    if (response.status !== 200) expect(at(await response.json(), 'code')).to.equal('TOKEN_REVOKED');
    return response.status === 200;
  };

  it('is asked of the provider, and nothing is where the configuration has none', async () => {
    const { fixture, roleid, confid } = started;
    const asked = async (): Promise<(string | null)[]> => {
      const url = new URL(await fixture.begin(new HttpBrowser(), roleid, confid));
      return ['max_age', 'prompt'].map((name) => url.searchParams.get(name));
    };
    expect(await asked()).to.deep.equal([String(AGE), null]);
    await configure({ max_session_age: null, prompt: 'select_account' });
    expect(await asked()).to.deep.equal([null, 'select_account']);
    expect((await signIn()).roleid).to.equal(roleid);
  });

  it('is refused where the ID token does not say when the person signed in, or says a time that cannot be', async () => {
    const now = seconds();
    const [nothing, wrong] = [/does not say when/, /has not asked the person/];
    for (const [authTime, message] of [
      [undefined, nothing],
      [null, nothing],
      [String(now), nothing],
      [[now], nothing],
      [-1, nothing],
      [now + TOLERANCE + 30, nothing],
      // In milliseconds.
      [Date.now(), nothing],
      [1e308, nothing],
      [0, wrong],
      [now - AGE - TOLERANCE, wrong],
    ] as const) {
      const { code, error } = await signIn(authTime);
      expect(code, String(authTime)).to.equal('OIDC_ID_TOKEN_INVALID');
      expect(error, String(authTime)).to.match(message);
    }
    for (const authTime of [now, now - 250, now + 5, now - AGE - TOLERANCE + 30])
      expect((await signIn(authTime)).roleid, String(authTime)).to.equal(started.roleid);
  });

  it('ends access tokens, refresh tokens and tokens for children then, in every process', async () => {
    const { fixture, roleid } = started;
    const held = await signIn(seconds() - AGE - TOLERANCE + 10);
    const endsMs = Date.now() + 10_000;
    const list = await fixture.web.control(held.access_token, '{ Utility { sessions { is_current ends } } }');
    const sessions = at(list, 'data.Utility.sessions') as readonly { is_current: boolean; ends: string }[];
    const { ends } = sessions.find(({ is_current }) => is_current)!;
    expect(Date.parse(ends)).to.be.within(endsMs - 8_000, endsMs + 1_000);
    const renewed = (await (await refresh(held.refresh_token)).json()) as AuthBody;
    const child = await fixture.web.createMember(held.access_token, 'child', ['select']);
    const tokens = [held.access_token, renewed.access_token, child.token];
    await waitFor('the token to end', async () => !(await opens(held.access_token)));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (const web of [fixture.web, other]) {
      for (const token of tokens) expect(await opens(token, web)).to.equal(false);
      for (const token of [held.refresh_token, renewed.refresh_token])
        expect(at(await (await refresh(token, web)).json(), 'code')).to.equal('TOKEN_REVOKED');
    }
    expect((await signIn(seconds())).roleid, 'the provider is asked again').to.equal(roleid);
  });

  it('ends a session of the console', async () => {
    const { fixture, provider, confid } = started;
    provider.misbehavior = { claims: { auth_time: seconds() - AGE - TOLERANCE + 4 } };
    const browser = new HttpBrowser();
    const begun = await browser.send(`${fixture.baseUrl}/console/sign-in/provider`, {
      method: 'POST',
      headers: { origin: fixture.baseUrl },
      body: new URLSearchParams({ tenant: 'shop', login: 'somebody', confid: String(confid) }),
    });
    await browser.follow(
      begun.headers.get('location')!,
      (next) => !next.startsWith(`${fixture.baseUrl}/console`),
    );
    const visit = (): Promise<Response> => browser.send(`${fixture.baseUrl}/console/account`);
    const page = await visit();
    expect(page.status).to.equal(200);
    expect(await page.text()).to.match(/until\s+<time/);
    await waitFor('the session to end', async () => (await visit()).status === 303);
    expect((await visit()).headers.get('location')).to.match(/^\/console\/sign-in\?/);
  });

  it('holds for sessions that began before it was set, and no longer once it is removed', async () => {
    const { fixture, confid, roleid } = started;
    const { pool } = fixture.web.testDatabase.database;
    await configure({ max_session_age: null });
    const held = await signIn();
    const byPassword = await fixture.web.signIn(fixture.tenant.tenantid);
    await pool.query("update rowpost.session set since = since - interval '10 minutes'");
    await configure({ max_session_age: 900 });
    expect(await opens(held.access_token)).to.equal(true);
    await configure({ max_session_age: AGE });
    await waitFor('the token to end', async () => !(await opens(held.access_token)));
    expect((await refresh(held.refresh_token)).status).to.equal(401);
    expect(await opens(byPassword.access_token), 'with a password').to.equal(true);
    const { rows } = await pool.query<{ kept: boolean }>(
      `select bool_and(expires > now() + interval '7 days') as kept from rowpost.session
       where confid = $1 and roleid = $2 and ends < now()`,
      [confid, roleid],
    );
    expect(rows, 'kept for longer than its tokens live').to.deep.equal([{ kept: true }]);
    await configure({ max_session_age: null });
    await waitFor('the token to count', () => opens(held.access_token));
  });

  it('is between five minutes and a year, and prompt is one that is known', async () => {
    const { fixture, confid } = started;
    for (const input of [
      { max_session_age: 299 },
      { max_session_age: 31_536_001 },
      { max_session_age: -1 },
      { prompt: 'none' },
      { prompt: 'login consent' },
      { prompt: '__proto__' },
    ])
      expect(
        codeOf(await fixture.web.control(fixture.root, UPDATE, { confid, input })),
        JSON.stringify(input),
      ).to.equal('BAD_USER_INPUT');
  });
});
