import { expect } from 'chai';
import { at, codeOf, textAt, WebFixture, type AuthBody, type GraphqlResult } from '../api/webFixture.js';

const PASSWORD = 'the secret of a role';
const UPDATE = 'mutation ($id: ID!, $input: roleInput) { update_role(roleid: $id, input: $input) { login } }';
const CREATE = 'mutation ($input: roleInput) { create_role(input: $input) { roleid } }';

describe('attack: a role that is taken over', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let root: string;
  let aheadMs = 0;
  let names = 0;

  before(async () => {
    fixture = await WebFixture.start({ clock: { now: () => Date.now() + aheadMs } });
    ({ tenantid } = await fixture.createTenant('shop', 'create table note (id int primary key)'));
    root = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());
  beforeEach(() => {
    aheadMs = 0;
  });

  async function signedIn(): Promise<AuthBody> {
    const login = `role ${(names += 1)}`;
    const input = { login, password: PASSWORD, capabilities: ['login', 'select'] };
    await fixture.control(root, CREATE, { input });
    return fixture.signIn(tenantid, login, PASSWORD);
  }
  const change = ({ access_token, roleid }: AuthBody, input: object): Promise<GraphqlResult> =>
    fixture.control(access_token, UPDATE, { id: roleid, input });

  it('with a token found later', async () => {
    const found = await signedIn();
    aheadMs = 11 * 60_000;
    for (const input of [{ password: 'the thief chose it' }, { login: 'thief' }]) {
      expect(codeOf(await change(found, input))).to.equal('REAUTHENTICATION_REQUIRED');
    }
    const map = `mutation { create_role_oidc(input: {roleid: ${found.roleid}, confid: 1, sub_id: "thief"}) { sub_id } }`;
    expect(codeOf(await fixture.control(found.access_token, map))).to.equal('REAUTHENTICATION_REQUIRED');
    // What doesn't help to sign in, and a login that stays as it is.
    expect((await change(found, { name: 'renamed', login: `role ${names}` })).errors).to.equal(undefined);
  });

  it('with a token made new by refreshing it, or by role_token', async () => {
    const found = await signedIn();
    const session = await fixture.signIn(tenantid);
    aheadMs = 11 * 60_000;
    const response = await fixture.fetch('/auth', {
      headers: { authorization: `Bearer ${found.refresh_token}` },
    });
    const refreshed = (await response.json()) as AuthBody;
    expect(codeOf(await change(refreshed, { password: 'the thief chose it' }))).to.equal(
      'REAUTHENTICATION_REQUIRED',
    );
    const query = `{ Utility { role_token(roleid: ${session.roleid}) } }`;
    const token = textAt(await fixture.control(session.access_token, query), 'data.Utility.role_token');
    expect(
      codeOf(await change({ ...session, access_token: token }, { password: 'the thief chose it' })),
    ).to.equal('REAUTHENTICATION_REQUIRED');
  });

  it('by guessing the password with a token', async () => {
    const found = await signedIn();
    aheadMs = 11 * 60_000;
    const guess = (current_password: string): Promise<GraphqlResult> =>
      change(found, { password: 'the thief chose it', current_password });
    for (let tries = 0; tries < 10; tries += 1) {
      expect(codeOf(await guess(`guess ${tries}`))).to.equal('REAUTHENTICATION_REQUIRED');
    }
    expect(codeOf(await guess(PASSWORD))).to.equal('RATE_LIMITED');
  });

  it('by guesses that keep its owner from changing the password', async () => {
    const found = await signedIn();
    const login = `role ${names}`;
    aheadMs = 11 * 60_000;
    const input = { password: 'another of hers', current_password: 'a guess' };
    for (let tries = 0; tries < 10; tries += 1) await change(found, input);
    expect(codeOf(await change(found, input))).to.equal('RATE_LIMITED');
    const own = await fixture.signIn(tenantid, login, PASSWORD);
    const changed = await change(own, { ...input, current_password: PASSWORD });
    expect(at(changed, 'data.update_role.login')).to.equal(login);
    expect(
      (await fixture.postJson('/query', {}, { authorization: `Bearer ${found.access_token}` })).status,
    ).to.equal(401);
  });

  it('which its owner, who knows the password, can still change', async () => {
    const own = await signedIn();
    aheadMs = 11 * 60_000;
    const changed = await change(own, { password: 'another of hers', current_password: PASSWORD });
    expect(at(changed, 'data.update_role.login')).to.equal(`role ${names}`);
  });

  it('by a login that looks the same, in either order of creation', async () => {
    const create = (login: string): Promise<GraphqlResult> =>
      fixture.control(root, CREATE, { input: { login } });
    for (const [first, second] of [
      ['ﬁx@example.com', 'fix@example.com'],
      ['mix@example.com', 'ｍix@example.com'],
      ['Straße@example.com', 'STRAßE@example.com'],
      ['zoë@example.com', 'ZOË@example.com'],
    ] as const) {
      expect((await create(first)).errors, first).to.equal(undefined);
      expect(codeOf(await create(second)), second).to.equal('NAME_TAKEN');
    }
  });
});
