import { expect } from 'chai';
import { pino } from 'pino';
import { ConsoleBrowser } from '../api/consoleBrowser.js';
import { at, codeOf, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';

const PASSWORD = 'correct horse battery';
const CREATE =
  'mutation ($input: invitationInput) { create_invitation(input: $input) { roleid link expires } }';
const POST = '/console/sign-in/invitation/';

describe('attack: invitations that are guessed, replayed, forwarded or kept', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let names = 0;
  const lines: string[] = [];

  before(async () => {
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    fixture = await WebFixture.start({ env: { SIGN_INS_PER_ADDRESS: '0' }, log });
    tenant = await fixture.createTenant('shop', 'create table note (id int primary key)');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
  });
  after(() => fixture.stop());

  const role = async (
    capabilities: readonly string[] = ['login'],
  ): Promise<{ roleid: number; login: string }> => {
    const login = `colleague ${(names += 1)}`;
    const query = 'mutation ($input: roleInput) { create_role(input: $input) { roleid } }';
    const made = await fixture.control(root, query, { input: { login, capabilities } });
    return { roleid: Number(textAt(made, 'data.create_role.roleid')), login };
  };
  const create = (input: Json, token = root): Promise<GraphqlResult> =>
    fixture.control(token, CREATE, { input });
  const invite = async (roleid: number): Promise<string> => {
    const link = textAt(await create({ roleid }), 'data.create_invitation.link');
    expect(link).to.match(new RegExp(`^${fixture.config.baseUrl}${POST}${tenant.tenantid}-[\\w-]{43}$`));
    return link.slice(fixture.config.baseUrl.length);
  };
  const accept = (
    path: string,
    secret = PASSWORD,
    browser = new ConsoleBrowser(fixture),
  ): Promise<Response> => browser.post(POST, { invitation: path.slice(POST.length), secret });
  const opens = async (path: string): Promise<boolean> =>
    (await new ConsoleBrowser(fixture).get(path)).status === 200;
  const canSignIn = async (login: string, password = PASSWORD): Promise<boolean> =>
    (await fixture.postJson('/auth', { tenantid: tenant.tenantid, login, password })).status === 200;
  const update = (roleid: number, input: Json): Promise<GraphqlResult> =>
    fixture.control(
      root,
      'mutation ($id: ID!, $input: roleInput) { update_role(roleid: $id, input: $input) { roleid } }',
      { id: roleid, input },
    );

  it('let one person choose a password, once, and sign them in', async () => {
    const { roleid, login } = await role();
    const path = await invite(roleid);
    // Scanners and previews of chats open links.
    for (let times = 0; times < 3; times += 1) expect(await opens(path)).to.equal(true);
    const browser = new ConsoleBrowser(fixture);
    const html = await browser.page(path);
    expect(html).to.include(login).and.include('shop');
    const weak = await accept(path, login, browser);
    expect(weak.status).to.equal(400);
    expect(await weak.text()).to.include('The password');
    const accepted = await accept(path, PASSWORD, browser);
    expect(accepted.headers.get('location')).to.equal('/console/');
    expect((await browser.get('/console/account')).status).to.equal(200);
    expect(await canSignIn(login)).to.equal(true);
    expect(await opens(path)).to.equal(false);
    const again = await accept(path, 'another correct horse');
    expect(again.status).to.equal(404);
    expect(await again.text()).to.include('was used, or has ended');
    expect([await canSignIn(login), await canSignIn(login, 'another correct horse')]).to.deep.equal([
      true,
      false,
    ]);
    const { data } = await fixture.control(
      root,
      `{ audit_event(filter: "key = '${roleid}' and object = 'role'", ordering: ["time desc"], limit: 1) { login operation changes } role(filter: "roleid = ${roleid}") { password_setby } invitation { roleid } }`,
    );
    expect(at(data, 'audit_event.0')).to.deep.include({ login, operation: 'update' });
    expect(at(data, 'role.0.password_setby')).to.equal(roleid);
    expect(at(data, 'invitation')).to.deep.equal([]);
  });

  it('are good for one of several who use the link at the same moment', async () => {
    const { roleid, login } = await role();
    const path = await invite(roleid);
    const passwords = Array.from({ length: 5 }, (_, index) => `correct horse battery ${index}`);
    const statuses = (await Promise.all(passwords.map((password) => accept(path, password)))).map(
      ({ status }) => status,
    );
    expect(statuses.toSorted()).to.deep.equal([303, 404, 404, 404, 404]);
    const works = await Promise.all(passwords.map((password) => canSignIn(login, password)));
    expect(works.filter(Boolean)).to.have.length(1);
    expect(works[statuses.indexOf(303)]).to.equal(true);
  });

  it('end with their time, by another one, by deletion, and with the state of the role', async () => {
    const ends: Readonly<Record<string, (roleid: number) => Promise<unknown>>> = {
      'its time': (roleid) =>
        fixture.testDatabase.database.pool.query(
          "update rowpost.invitation set expires = now() - interval '1 s' where roleid = $1",
          [roleid],
        ),
      'another one': (roleid) => invite(roleid),
      deletion: (roleid) =>
        fixture.control(root, `mutation { delete_invitation(roleid: ${roleid}) { roleid } }`),
      'a password': (roleid) => update(roleid, { password: 'the words of the admin' }),
      'the loss of login': (roleid) => update(roleid, { capabilities: [] }),
      'a loss of login that is undone': async (roleid) => {
        await update(roleid, { capabilities: [] });
        await update(roleid, { capabilities: ['login'] });
      },
      'the end of its sessions': (roleid) =>
        fixture.control(root, `mutation { Utility { end_sessions(roleid: ${roleid}) } }`),
      'the end of the role, and its return': async (roleid) => {
        await update(roleid, { deleted: true });
        await update(roleid, { deleted: false });
      },
    };
    for (const [what, end] of Object.entries(ends)) {
      const { roleid, login } = await role();
      const path = await invite(roleid);
      await end(roleid);
      expect(await opens(path), what).to.equal(false);
      expect((await accept(path)).status, what).to.equal(404);
      expect(await canSignIn(login), what).to.equal(false);
      const listed = await fixture.control(root, `{ invitation(filter: "roleid = ${roleid}") { roleid } }`);
      expect(at(listed.data, 'invitation'), what).to.have.length(what === 'another one' ? 1 : 0);
    }
    const { roleid } = await role();
    const path = await invite(roleid);
    const suspend = (suspended: boolean): Promise<unknown> =>
      fixture.testDatabase.database.pool.query(
        'update rowpost.tenant set suspended = $2 where tenantid = $1',
        [tenant.tenantid, suspended],
      );
    await suspend(true);
    expect([await opens(path), (await accept(path)).status]).to.deep.equal([false, 404]);
    await suspend(false);
    expect(await opens(path)).to.equal(true);
  });

  it('are not found by a guess, and say no more of a tenant or role than that', async () => {
    const { roleid } = await role();
    const secret = (await invite(roleid)).slice(POST.length);
    const guesses = [
      `${secret.slice(0, -1)}${secret.endsWith('A') ? 'Q' : 'A'}`,
      secret.slice(0, -1),
      secret.slice(secret.indexOf('-')),
      secret.replace(/^\d+/, '99999'),
      `${tenant.tenantid}-`,
      'x'.repeat(5_000),
      "' or 1=1 --",
      '%00',
    ];
    const texts = new Set<string>();
    for (const guess of guesses) {
      const got = await new ConsoleBrowser(fixture).get(POST + encodeURIComponent(guess));
      expect(got.status, guess.slice(0, 50)).to.equal(404);
      texts.add((await got.text()).replace(/nonce="[^"]*"/g, ''));
      const posted = await new ConsoleBrowser(fixture).post(POST, { invitation: guess, secret: PASSWORD });
      expect(posted.status, guess.slice(0, 50)).to.equal(404);
    }
    expect(texts.size).to.equal(1);
    expect(await opens(POST + secret)).to.equal(true);
  });

  it('are stored as hashes, and neither logged nor sent to other sites', async () => {
    const { roleid } = await role();
    const path = await invite(roleid);
    const random = path.slice(path.indexOf('-') + 1);
    const page = await new ConsoleBrowser(fixture).get(path);
    expect(page.headers.get('referrer-policy')).to.equal('strict-origin');
    expect(page.headers.get('cache-control')).to.include('no-store');
    expect(page.headers.get('x-robots-tag')).to.equal('noindex');
    await accept(path, 'short');
    const { rows } = await fixture.testDatabase.database.pool.query<{ row: string }>(
      'select row_to_json(i)::text as row from rowpost.invitation i union all select row_to_json(e)::text from rowpost.audit_event e',
    );
    expect(rows.length).to.be.above(1);
    for (const { row } of rows) expect(row).not.to.include(random);
    await accept(path);
    expect(lines.length).to.be.above(10);
    for (const line of lines) expect(line).not.to.include(random);
  });

  it('are made only by those who may set the password, for roles that may sign in', async () => {
    const colleague = await role();
    const stranger = await fixture.createMember(root, 'stranger', [
      'login',
      'create_role',
      'update_role',
      'view_role',
    ]);
    const plain = await fixture.createMember(root, 'plain', ['login']);
    expect(codeOf(await create({ roleid: colleague.roleid }, stranger.token))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await create({ roleid: colleague.roleid }, plain.token))).to.equal('PERMISSION_DENIED');
    const below = await fixture.createMember(stranger.token, 'below', ['login']);
    expect((await create({ roleid: below.roleid }, stranger.token)).errors).to.equal(undefined);
    expect(
      codeOf(
        await fixture.control(
          plain.token,
          `mutation { delete_invitation(roleid: ${below.roleid}) { roleid } }`,
        ),
      ),
    ).to.equal('PERMISSION_DENIED');
    // Somebody else's is not seen either.
    const seen = await fixture.control(plain.token, '{ invitation { roleid } }');
    expect(at(seen.data, 'invitation')).to.deep.equal([]);
    const admin = await fixture.createMember(root, 'admin', ['login', 'admin']);
    expect(codeOf(await create({ roleid: tenant.rootRoleid }, admin.token))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await create({ roleid: admin.roleid }, admin.token))).to.equal('BAD_USER_INPUT');
    await update(below.roleid, { capabilities: ['login', 'select'] });
    expect(codeOf(await create({ roleid: below.roleid }, stranger.token)), 'with more rights').to.equal(
      'PERMISSION_DENIED',
    );
    const nameless = await fixture.control(
      root,
      'mutation { create_role(input: { name: "x", capabilities: ["login"] }) { roleid } }',
    );
    for (const roleid of [
      textAt(nameless, 'data.create_role.roleid'),
      String((await role(['select'])).roleid),
    ])
      expect(codeOf(await create({ roleid: Number(roleid) }))).to.equal('BAD_USER_INPUT');
    for (const expires of ['2001-01-01T00:00:00Z', '2999-01-01T00:00:00Z'])
      expect(codeOf(await create({ roleid: colleague.roleid, expires })), expires).to.equal('BAD_USER_INPUT');
  });

  it('are not accepted by a page of another site', async () => {
    const { roleid, login } = await role();
    const path = await invite(roleid);
    const values = { invitation: path.slice(POST.length), secret: PASSWORD };
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const response = await new ConsoleBrowser(fixture).post(POST, values, headers);
      expect(response.status).to.equal(403);
    }
    expect(await canSignIn(login)).to.equal(false);
  });
});
