import { expect } from 'chai';
import { decodeProtectedHeader } from 'jose';
import { SigningKeys } from '../../../src/api/auth/signingKeys.js';
import { Tokens } from '../../../src/api/auth/tokens.js';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { MAX_ENDED } from '../../../src/db/roles/signIn/sessions.js';
import { PRINCIPAL_MAX_AGE_MS } from '../../../src/db/roles/principal.js';
import { systemClock } from '../../../src/foundation/clock.js';
import { testKeyRing } from '../../support/testConfig.js';
import { ConsoleBrowser } from '../consoleBrowser.js';
import { at, codeOf, textAt, WebFixture, type AuthBody, type GraphqlResult } from '../webFixture.js';

/** The documented time until a session has ended everywhere. */
const STATED_MS = 1_000;
const PASSWORD = 'the secret of a role';

interface Shown {
  readonly sessionid: string;
  readonly is_current: boolean;
  readonly is_console: boolean;
  readonly since: string;
  readonly last_used: string;
  readonly browser: string;
  readonly address: string;
  readonly provider: string | null;
}

describe('sessions', () => {
  let fixture: WebFixture;
  let other: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let roles = 0;

  before(async () => {
    const env = { SIGN_INS_PER_ADDRESS: '0' };
    fixture = await WebFixture.start({ env });
    other = await WebFixture.start({ env, beside: fixture });
    tenant = await fixture.createTenant('shop', 'create table note (id int primary key)');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
  });
  after(async () => {
    await other.stop();
    await fixture.stop();
  });

  async function createRole(
    capabilities = ['login', 'select'],
    maker = root,
  ): Promise<{ roleid: number; signIn: () => Promise<AuthBody> }> {
    const login = `role ${(roles += 1)}`;
    const made = await fixture.control(
      maker,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      { input: { login, password: PASSWORD, capabilities } },
    );
    return {
      roleid: Number(textAt(made, 'data.create_role.roleid')),
      signIn: () => fixture.signIn(tenant.tenantid, login, PASSWORD),
    };
  }

  async function sessionsOf(token: string, roleid?: number): Promise<readonly Shown[]> {
    const of = roleid === undefined ? '' : `(roleid: ${roleid})`;
    const result = await fixture.control(
      token,
      `{ Utility { sessions${of} { sessionid is_current is_console since last_used browser address provider } } }`,
    );
    expect(result.errors).to.equal(undefined);
    return at(result, 'data.Utility.sessions') as readonly Shown[];
  }

  const end = (token: string, sessionid: string, web = fixture): Promise<GraphqlResult> =>
    web.control(token, `mutation { Utility { end_session(sessionid: "${sessionid}") } }`);

  const current = async (token: string): Promise<string> =>
    (await sessionsOf(token)).find(({ is_current }) => is_current)!.sessionid;

  async function opens(token: string, web = fixture): Promise<boolean> {
    const headers = { authorization: `Bearer ${token}` };
    const response = await web.fetch('/query?query={__typename}', { headers });
    if (response.status !== 200) expect(at(await response.json(), 'code')).to.equal('TOKEN_REVOKED');
    return response.status === 200;
  }

  const refresh = (token: string, web = fixture): Promise<Response> =>
    web.fetch('/auth', { headers: { authorization: `Bearer ${token}` } });

  /** As other processes, which notice within this time. */
  const pass = (): Promise<void> =>
    new Promise((resolve) => setTimeout(resolve, Math.min(STATED_MS, PRINCIPAL_MAX_AGE_MS + 50)));

  it('are listed with browser, address and times, one for each sign-in', async () => {
    const { roleid, signIn } = await createRole();
    const { access_token } = await signIn();
    await signIn();
    const found = await sessionsOf(access_token);
    expect(found).to.have.length(2);
    expect(found.filter(({ is_current }) => is_current)).to.have.length(1);
    const [{ since, last_used, ...session }] = found as [Shown];
    expect(session).to.include({ is_console: false, browser: 'node', address: '127.0.0.1', provider: null });
    for (const time of [since, last_used])
      expect(Math.abs(Date.parse(time) - Date.now())).to.be.below(60_000);
    expect(await sessionsOf(root, roleid)).to.have.length(2);
  });

  it('end with their access token, refresh tokens and tokens for children, in every process and after a restart', async () => {
    const { signIn } = await createRole(['login', 'select', 'create_role']);
    const [ended, stays] = [await signIn(), await signIn()];
    const { refresh_token: renewed } = (await (await refresh(ended.refresh_token)).json()) as AuthBody;
    const child = await fixture.createMember(ended.access_token, `child ${roles}`, ['select']);
    const dead = [ended.access_token, child.token];
    for (const web of [fixture, other])
      for (const token of [...dead, stays.access_token]) expect(await opens(token, web)).to.equal(true);

    const sessionid = await current(ended.access_token);
    expect((await end(stays.access_token, sessionid, other)).errors).to.equal(undefined);
    expect(await opens(ended.access_token, other), 'where it was ended').to.equal(false);
    await pass();
    const restarted = await WebFixture.start({ beside: fixture });
    try {
      for (const web of [fixture, other, restarted]) {
        for (const token of dead) expect(await opens(token, web)).to.equal(false);
        for (const token of [ended.refresh_token, renewed])
          expect(at(await (await refresh(token, web)).json(), 'code')).to.equal('TOKEN_REVOKED');
        expect(await opens(stays.access_token, web)).to.equal(true);
        expect((await refresh(stays.refresh_token, web)).status).to.equal(200);
      }
    } finally {
      await restarted.stop();
    }
    expect(await sessionsOf(stays.access_token)).to.have.length(1);
    expect(codeOf(await end(stays.access_token, sessionid))).to.equal('NOT_FOUND');
  });

  it('end all at once, the own one too', async () => {
    const { roleid, signIn } = await createRole();
    const held = [await signIn(), await signIn()];
    const all = await fixture.control(held[0]!.access_token, 'mutation { Utility { end_sessions } }');
    expect(at(all, 'data.Utility.end_sessions')).to.equal(roleid);
    await pass();
    for (const { access_token, refresh_token } of held) {
      for (const web of [fixture, other]) {
        expect(await opens(access_token, web)).to.equal(false);
        expect((await refresh(refresh_token, web)).status).to.equal(401);
      }
    }
    expect(await sessionsOf(root, roleid)).to.deep.equal([]);
    expect(await sessionsOf((await signIn()).access_token)).to.have.length(1);
  });

  it('of the console are among them, and end with a sign-out and from elsewhere', async () => {
    const { roleid } = await createRole(['login', 'admin']);
    const browser = new ConsoleBrowser(fixture);
    await browser.signIn('shop', `role ${roles}`, PASSWORD);
    const elsewhere = new ConsoleBrowser(other);
    await elsewhere.signIn('shop', `role ${roles}`, PASSWORD);
    const found = await sessionsOf(root, roleid);
    expect(found.map(({ is_console }) => is_console)).to.deep.equal([true, true]);
    await browser.post('/console/sign-out', { csrf: await browser.csrf('/console/policies') });
    const [left, ...others] = await sessionsOf(root, roleid);
    expect(others).to.deep.equal([]);
    expect((await elsewhere.get('/console/policies')).status).to.equal(200);
    await end(root, left!.sessionid);
    expect((await elsewhere.get('/console/policies')).status).to.equal(303);
  });

  it('are those of oneself and of roles that one may change', async () => {
    const parent = await createRole(['login', 'select', 'create_role']);
    const parentToken = (await parent.signIn()).access_token;
    const child = await createRole(['login', 'select'], parentToken);
    const childToken = (await child.signIn()).access_token;
    const stranger = await createRole(['login', 'select', 'create_role']);
    const admin = await createRole(['login', 'admin']);
    const elsewhere = await fixture.createTenant(`other ${roles}`);
    const foreign = (await fixture.signIn(elsewhere.tenantid)).access_token;
    const ofChild = await current(childToken);
    const ask = (token: string, roleid: number): Promise<string | undefined> =>
      fixture.control(token, `{ Utility { sessions(roleid: ${roleid}) { sessionid } } }`).then(codeOf);
    const askAll = (token: string, roleid: number): Promise<string | undefined> =>
      fixture.control(token, `mutation { Utility { end_sessions(roleid: ${roleid}) } }`).then(codeOf);
    for (const token of [(await stranger.signIn()).access_token, foreign]) {
      expect(await ask(token, child.roleid)).to.equal('NOT_FOUND');
      expect(await askAll(token, child.roleid)).to.equal('NOT_FOUND');
      expect(codeOf(await end(token, ofChild))).to.be.oneOf(['NOT_FOUND']);
    }
    expect(await ask(childToken, parent.roleid)).to.equal('NOT_FOUND');
    const adminToken = (await admin.signIn()).access_token;
    expect(await ask(adminToken, tenant.rootRoleid)).to.equal('PERMISSION_DENIED');
    expect(codeOf(await end(adminToken, await current(root)))).to.equal('PERMISSION_DENIED');
    expect(await opens(childToken)).to.equal(true);
    for (const token of [parentToken, adminToken, root])
      expect(await ask(token, child.roleid)).to.equal(undefined);
    expect(codeOf(await end(parentToken, ofChild))).to.equal(undefined);
    expect(await opens(childToken)).to.equal(false);
    for (const nonsense of ['1', '', "' or 1 = 1", '00000000-0000-4000-8000-000000000000'])
      expect(codeOf(await end(root, nonsense))).to.equal('NOT_FOUND');
  });

  it('of anonymous clients, who are one role, are none', async () => {
    await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }');
    const { access_token, refresh_token } = (await (
      await fixture.postJson('/anonauth', { tenantid: tenant.tenantid })
    ).json()) as AuthBody;
    expect(decodeProtectedHeader(access_token)).not.to.have.property('sid');
    expect((await refresh(refresh_token)).status).to.equal(200);
    for (const field of ['{ Utility { sessions { sessionid } } }', 'mutation { Utility { end_sessions } }'])
      expect(codeOf(await fixture.control(access_token, field))).to.equal('PERMISSION_DENIED');
  });

  it('may be ended more often than is kept in memory', async () => {
    const { roleid, signIn } = await createRole();
    const [ended, stays] = [await signIn(), await signIn()];
    await end(root, await current(ended.access_token));
    await fixture.testDatabase.database.pool.query(
      `insert into rowpost.session (tenantid, roleid, browser, address, state_ms, expires, ended)
       select $1, $2, '', '', 0, now() + interval '1 day', now() from generate_series(1, ${MAX_ENDED})`,
      [tenant.tenantid, roleid],
    );
    await pass();
    for (const web of [fixture, other]) {
      expect(await opens(ended.access_token, web)).to.equal(false);
      expect(await opens(stays.access_token, web)).to.equal(true);
    }
  });

  it('are remembered while a token of theirs may be valid, and then forgotten', async () => {
    const { roleid, signIn } = await createRole();
    await end(root, await current((await signIn()).access_token));
    const { pool } = fixture.testDatabase.database;
    const ages = async (): Promise<number[]> => {
      const { rows } = await pool.query<{ hours: number }>(
        'select extract(epoch from expires - now())::float8 / 3600 as hours from rowpost.session where roleid = $1',
        [roleid],
      );
      return rows.map(({ hours }) => hours);
    };
    const [hours] = await ages();
    expect(hours).to.be.above(24);
    await pool.query("update rowpost.session set expires = now() - interval '2 hours' where roleid = $1", [
      roleid,
    ]);
    await (await createRole()).signIn();
    expect(await ages()).to.deep.equal([]);
  });

  it('get no tokens from a process that has not noticed yet that they ended', async () => {
    const { signIn } = await createRole();
    const [ended, stays] = [await signIn(), await signIn()];
    const sessionid = await current(ended.access_token);
    expect(await opens(ended.access_token, other)).to.equal(true);
    const { rows } = await fixture.testDatabase.database.pool.query(
      'update rowpost.session set ended = now() where sessionid = $1 returning sessionid',
      [sessionid],
    );
    expect(rows).to.have.length(1);
    expect((await refresh(ended.refresh_token, other)).status).to.equal(401);
    expect((await refresh(stays.refresh_token, other)).status).to.equal(200);
  });

  it('get no tokens once they are gone, as after a restore', async () => {
    const { roleid, signIn } = await createRole();
    const { refresh_token } = await signIn();
    await fixture.testDatabase.database.pool.query('delete from rowpost.session where roleid = $1', [roleid]);
    expect(at(await (await refresh(refresh_token)).json(), 'code')).to.equal('TOKEN_REVOKED');
  });

  it('are begun by the first refresh of a token that an earlier release issued', async () => {
    const { roleid } = await createRole();
    const keys = new SigningKeys(fixture.testDatabase.database.pool, testKeyRing, systemClock);
    const principal = (await fixture.principals.load(tenant.tenantid, roleid))!;
    const origin = { authTimeMs: Date.now() - 3_600_000 };
    const old = await new Tokens(keys, fixture.config, systemClock).issuePair(principal, origin);
    expect(await opens(old.access_token)).to.equal(true);
    const { access_token } = (await (await refresh(old.refresh_token)).json()) as AuthBody;
    const [session, ...others] = await sessionsOf(access_token);
    expect(others).to.deep.equal([]);
    expect(Date.now() - Date.parse(session!.since)).to.be.within(3_500_000, 3_700_000);
    await end(access_token, session!.sessionid);
    expect(await opens(access_token)).to.equal(false);
  });

  it('are stored as used within a minute or two, without a write for each request', async () => {
    const clock = { offsetMs: 0, now: () => Date.now() + clock.offsetMs };
    const third = await WebFixture.start({ beside: fixture, clock });
    const { access_token } = await (await createRole()).signIn();
    const before = (await sessionsOf(access_token))[0]!;
    clock.offsetMs = 600_000;
    expect(await opens(access_token, third)).to.equal(true);
    await third.stop();
    const [after] = await sessionsOf(access_token);
    expect(Date.parse(after!.last_used) - Date.parse(before.last_used)).to.be.above(500_000);
  });

  it('cost a request with a known token no statement', async () => {
    const { access_token } = await (await createRole()).signIn();
    expect(await opens(access_token)).to.equal(true);
    const { pool } = fixture.testDatabase.database;
    const texts: string[] = [];
    const query = pool.query.bind(pool) as (...args: unknown[]) => unknown;
    Object.assign(pool, {
      query: (...args: unknown[]) => {
        texts.push(typeof args[0] === 'string' ? args[0] : ((args[0] as { text?: string }).text ?? ''));
        return query(...args);
      },
    });
    try {
      const untilMs = performance.now() + 3 * PRINCIPAL_MAX_AGE_MS;
      let requests = 0;
      while (performance.now() < untilMs) {
        expect(await opens(access_token)).to.equal(true);
        requests += 1;
      }
      const ofSessions = texts.filter((text) => /rowpost\.session/.test(text));
      // Read with the role, once in PRINCIPAL_MAX_AGE_MS.
      expect(requests).to.be.above(20);
      expect(ofSessions.every((text) => text.includes('rowpost.policy_rule'))).to.equal(true);
      expect(ofSessions.length).to.be.within(1, 5);
    } finally {
      delete (pool as { query?: unknown }).query;
    }
  });
});
