import { expect } from 'chai';
import {
  MAX_REFUSED,
  pruneSignInEvents,
  recordSignInEvents,
  type SignInEvent,
} from '../../../src/db/roles/signIn/signInEvents.js';
import { waitFor } from '../../support/waitFor.js';
import { ConsoleBrowser } from '../consoleBrowser.js';
import { at, codeOf, textAt, WebFixture, type Json } from '../webFixture.js';
import { startMisbehaving, type MisbehavingFixture } from './support/misbehavingFixture.js';

const PASSWORD = 'the secret of a role';

describe('sign-in events', () => {
  let misbehaving: MisbehavingFixture;
  let web: WebFixture;
  let tenantid: number;
  let root: string;
  let names = 0;
  let addresses = 0;

  before(async () => {
    misbehaving = await startMisbehaving({
      env: { SIGN_INS_PER_ADDRESS: '0', SIGN_IN_FAILURES_PER_LOGIN: '0', TRUST_PROXY: '1' },
    });
    ({ web, root } = misbehaving.fixture);
    ({ tenantid } = misbehaving.fixture.tenant);
  });
  after(() => misbehaving.stop());

  async function createRole(capabilities = ['login', 'select'], maker = root): Promise<[number, string]> {
    const login = `person ${(names += 1)}`;
    const made = await web.control(
      maker,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      { input: { login, password: PASSWORD, capabilities } },
    );
    return [Number(textAt(made, 'data.create_role.roleid')), login];
  }

  async function eventsOf(roleid: number | null, token = root): Promise<readonly Json[]> {
    const filter = roleid === null ? 'roleid is null' : `roleid = ${roleid}`;
    const result = await web.control(
      token,
      `{ sign_in_event(filter: "${filter}", ordering: ["time"]) { kind roleid confid provider reason address actorid count } }`,
    );
    expect(result.errors, JSON.stringify(result.errors)).to.equal(undefined);
    return at(result, 'data.sign_in_event') as readonly Json[];
  }

  const kindsOf = async (roleid: number): Promise<readonly string[]> =>
    (await eventsOf(roleid)).map(({ kind, reason }) => [kind, reason ?? []].flat().join(' '));

  const refuse = (login: string, address: string, tenant = tenantid): Promise<Response> =>
    web.postJson('/auth', { tenantid: tenant, login, password: 'wrong' }, { 'x-forwarded-for': address });

  const newAddress = (): string => `198.51.${Math.floor((addresses += 1) / 250)}.${addresses % 250}`;

  const refusalOf = (of: number): SignInEvent => ({
    tenantid: of,
    kind: 'refused',
    reason: 'LOGIN_FAILED',
    address: newAddress(),
  });

  it('are sign-ins, refusals and sign-outs with who, how, and from where', async () => {
    const [roleid, login] = await createRole();
    const { access_token } = await web.signIn(tenantid, login, PASSWORD);
    await refuse(login, '203.0.113.9');
    await waitFor('the refusal', async () => (await eventsOf(roleid)).length === 2);
    const headers = { authorization: `Bearer ${access_token}` };
    await web.fetch('/oidc/logout', { method: 'POST', headers });
    const browser = new ConsoleBrowser(web);
    const form = { origin: misbehaving.fixture.baseUrl };
    await browser.post('/console/sign-in', { tenant: 'shop', login, password: PASSWORD }, form);
    await browser.post('/console/sign-out', { csrf: await browser.csrf('/console/policies') }, form);
    const shown = { roleid, confid: null, provider: null, reason: null, actorid: null, count: 1 };
    const events = await eventsOf(roleid);
    expect(events.slice(0, 3)).to.deep.equal([
      // That of the console is in the same minute, or not.
      { ...shown, kind: 'signed_in', address: '127.0.0.1', count: events[0]!['count'] },
      { ...shown, kind: 'refused', reason: 'LOGIN_FAILED', address: '203.0.113.9' },
      { ...shown, kind: 'signed_out', reason: 'program', address: '127.0.0.1' },
    ]);
    expect(await kindsOf(roleid)).to.include('signed_out console');
  });

  it('are sessions that were ended, and by whom', async () => {
    const [parentid, parent] = await createRole(['login', 'select', 'create_role']);
    const { access_token } = await web.signIn(tenantid, parent, PASSWORD);
    const [roleid, login] = await createRole(['login', 'select'], access_token);
    await web.signIn(tenantid, login, PASSWORD);
    const listed = await web.control(
      access_token,
      `{ Utility { sessions(roleid: ${roleid}) { sessionid } } }`,
    );
    const sessionid = textAt(listed, 'data.Utility.sessions.0.sessionid');
    await web.control(access_token, `mutation { Utility { end_session(sessionid: "${sessionid}") } }`);
    await web.control(access_token, `mutation { Utility { end_sessions(roleid: ${roleid}) } }`);
    const ended = (await eventsOf(roleid)).slice(1);
    expect(ended.map(({ reason, actorid }) => [reason, actorid])).to.deep.equal([
      ['ended', parentid],
      ['all', parentid],
    ]);
  });

  it('name the provider, and why it or its person was refused', async () => {
    const { fixture, provider, confid, roleid } = misbehaving;
    await fixture.readAuthBody(await fixture.signIn(roleid, confid));
    provider.misbehavior = { claims: { sub: 'somebody else' } };
    expect((await fixture.signIn(roleid, confid)).status).to.equal(403);
    provider.misbehavior = {};
    await waitFor('the refusal', async () => (await eventsOf(roleid)).length === 2);
    const [signedIn, refused] = await eventsOf(roleid);
    expect(signedIn).to.include({ kind: 'signed_in', confid, provider: 'provider 1' });
    expect(refused).to.include({ kind: 'refused', confid, reason: 'OIDC_IDENTITY_MISMATCH' });
  });

  it('are roles that sign-ins make, and changes of their classes', async () => {
    const { fixture, provider } = misbehaving;
    const providerid = await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer });
    const confid = await fixture.createConfig(providerid);
    const ok = async (query: string): Promise<Json> => {
      const { data, errors } = await web.control(root, query);
      expect(errors, query).to.equal(undefined);
      return data!;
    };
    const classid = textAt(
      await ok('mutation { create_role_class(input: {name: "staff"}) { classid } }'),
      'create_role_class.classid',
    );
    const { rootRoleid } = fixture.tenant;
    await ok(
      `mutation { create_oidc_provisioning(input: {confid: ${confid}, parentid: ${rootRoleid}, capabilities: ["login"], groups_claim: "groups"}) { confid } }`,
    );
    await ok(
      `mutation { create_oidc_group_class(input: {confid: ${confid}, group_name: "staff", classid: ${classid}}) { confid } }`,
    );
    const signIn = async (groups: readonly string[]): Promise<number> => {
      provider.misbehavior = { claims: { sub: 'new person', groups } };
      const start = await fixture.signIn(undefined, confid);
      return (await fixture.readAuthBody(start)).roleid;
    };
    const roleid = await signIn([]);
    expect(await signIn(['staff'])).to.equal(roleid);
    expect(await signIn(['staff'])).to.equal(roleid);
    expect(await signIn([])).to.equal(roleid);
    provider.misbehavior = {};
    expect(new Set(await kindsOf(roleid))).to.deep.equal(
      new Set(['provisioned', 'signed_in', 'classes_changed joined staff', 'classes_changed left staff']),
    );
  });

  it('are those of oneself and of the roles below, and of a tenant alone', async () => {
    const [parentid, parent] = await createRole(['login', 'select', 'create_role']);
    const parentToken = (await web.signIn(tenantid, parent, PASSWORD)).access_token;
    const [childid, child] = await createRole(['login', 'select'], parentToken);
    const childToken = (await web.signIn(tenantid, child, PASSWORD)).access_token;
    await refuse('no such login', newAddress());
    await waitFor('the refusal', async () => (await eventsOf(null)).length > 0);
    await web.control(root, '{ Utility { anonymous_logins(enable: true) } }');
    const anonymous = textAt(await (await web.postJson('/anonauth', { tenantid })).json(), 'access_token');
    await refuse('Nobody', newAddress());
    const elsewhere = await web.createTenant(`other ${names}`);
    const foreign = (await web.signIn(elsewhere.tenantid)).access_token;
    expect(await eventsOf(childid, parentToken)).to.have.length(1);
    expect(await eventsOf(parentid, parentToken)).to.have.length(1);
    expect(await eventsOf(childid, childToken)).to.have.length(1);
    for (const [of, token] of [
      [parentid, childToken],
      [null, parentToken],
      [parentid, foreign],
      [null, foreign],
    ] as const)
      expect(await eventsOf(of, token)).to.deep.equal([]);
    const all = await web.control(anonymous, '{ sign_in_event { kind } }');
    expect(codeOf(all)).to.equal('PERMISSION_DENIED');
  });

  it('do not fill the table, however many logins and addresses are tried', async () => {
    const flooded = await web.createTenant(`flooded ${names}`);
    const { access_token } = await web.signIn(flooded.tenantid);
    const pool = web.testDatabase.database.pool;
    // Each attempt to sign in costs as much time as a password's hash.
    const attempts = 16;
    const earlier = Array.from({ length: MAX_REFUSED - attempts / 2 }, () => refusalOf(flooded.tenantid));
    await recordSignInEvents(pool, earlier);
    // Rows of the first hour: the test may run as one ends.
    const count = async (): Promise<{ rows: number; events: number }> => {
      const { rows } = await pool.query<{ rows: number; events: number }>(
        `select count(*) filter (where slot = first)::int as rows, coalesce(sum(count), 0)::int as events
         from (select slot, count, min(slot) over () as first from rowpost.sign_in_event
           where tenantid = $1 and kind = 'refused') of_hours`,
        [flooded.tenantid],
      );
      return rows[0]!;
    };
    const batch = async (): Promise<void> => {
      const before = (await count()).events;
      for (let n = 0; n < attempts; n += 8)
        await Promise.all(
          Array.from({ length: 8 }, (_, k) => refuse(`made up ${n + k}`, newAddress(), flooded.tenantid)),
        );
      await waitFor('all refusals', async () => (await count()).events >= before + attempts);
    };
    await batch();
    const { rows } = await count();
    await batch();
    expect((await count()).rows - rows, 'further ones are one row an hour').to.be.at.most(2);
    const shown = await web.control(
      access_token,
      '{ sign_in_event(filter: "address is null", ordering: ["time"]) { kind roleid reason } }',
    );
    expect(at(shown, 'data.sign_in_event.0')).to.deep.equal({
      kind: 'refused',
      roleid: null,
      reason: 'LOGIN_FAILED',
    });
    // Of no tenant.
    await refuse('anybody', newAddress(), 2_000_000_000);
  });

  it('do not fill the table if very many are stored together, of one tenant or of two', async () => {
    const { pool } = web.testDatabase.database;
    const [one, other] = [await web.createTenant(`a ${names}`), await web.createTenant(`b ${names}`)];
    const refusals = (of: number, number: number) => Array.from({ length: number }, () => refusalOf(of));
    const few = refusals(other.tenantid, 3);
    await recordSignInEvents(pool, [...refusals(one.tenantid, 1_000), ...few, ...few]);
    const { rows } = await pool.query(
      `select tenantid, count(*)::int as rows, sum(count)::int as events from rowpost.sign_in_event
       where tenantid in ($1, $2) group by 1 order by 1`,
      [one.tenantid, other.tenantid],
    );
    expect(rows).to.deep.equal([
      { tenantid: one.tenantid, rows: MAX_REFUSED + 1, events: 1_000 },
      { tenantid: other.tenantid, rows: 3, events: 6 },
    ]);
  });

  it('are kept for SIGN_IN_EVENT_DAYS', async () => {
    const [roleid, login] = await createRole();
    await web.signIn(tenantid, login, PASSWORD);
    const { pool } = web.testDatabase.database;
    await pruneSignInEvents(pool, 1);
    expect(await eventsOf(roleid)).to.have.length(1);
    await pool.query("update rowpost.sign_in_event set slot = slot - interval '25 hours' where roleid = $1", [
      roleid,
    ]);
    await pruneSignInEvents(pool, 1);
    expect(await eventsOf(roleid)).to.deep.equal([]);
  });

  it('of refusals outlive the process that stops', async () => {
    const third = await WebFixture.start({ beside: web });
    const [roleid, login] = await createRole();
    await third.postJson('/auth', { tenantid, login, password: 'wrong' });
    await third.stop();
    expect(await kindsOf(roleid)).to.deep.equal(['refused LOGIN_FAILED']);
  });
});
