import { expect } from 'chai';
import { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { at, PXADMIN_PASSWORD, textAt, type Json } from './webFixture.js';

const ACCOUNT = '/console/account';
const PASSWORD = 'the secret of a role';
const NEXT = 'another secret of a role';
const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };

describe("the console's page of one's account", () => {
  let shop: ConsoleShop;
  let logins = 0;

  before(async () => {
    shop = await ConsoleShop.open();
  });
  after(() => shop.close());

  async function colleague(input: Json = {}): Promise<{ readonly login: string; readonly roleid: number }> {
    const login = `ada ${(logins += 1)}`;
    const made = await shop.fixture.control(
      shop.root,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      { input: { login, password: PASSWORD, capabilities: ['login'], ...input } },
    );
    return { login, roleid: Number(textAt(made, 'data.create_role.roleid')) };
  }
  async function signedIn(login: string, password = PASSWORD): Promise<ConsoleBrowser> {
    const browser = new ConsoleBrowser(shop.fixture);
    const form = { tenant: 'shop', login, password };
    expect((await browser.post('/console/sign-in', form, FIREFOX)).status).to.equal(303);
    return browser;
  }
  const isSignedIn = async (browser: ConsoleBrowser): Promise<boolean> =>
    (await browser.get(ACCOUNT)).status === 200;
  const idsIn = (html: string): readonly string[] =>
    [...html.matchAll(/name="sessionid" value="([^"]+)"/g)].map(([, id = '']) => id);
  const submit = async (browser: ConsoleBrowser, values: Record<string, string>): Promise<Response> =>
    browser.post(ACCOUNT, { csrf: await browser.csrf(ACCOUNT), ...values });

  it('is linked from every page, and the first one of those who may see nothing else', async () => {
    const { login } = await colleague();
    const browser = await signedIn(login);
    expect((await browser.get('/console/')).headers.get('location')).to.equal(ACCOUNT);
    const html = await browser.page('/console/keys');
    expect(html).to.match(new RegExp(`<a href="${ACCOUNT}">${login}</a>`));
    expect((await browser.get('/console/sessions')).headers.get('location')).to.equal(ACCOUNT);
    expect(await new ConsoleBrowser(shop.fixture).get(ACCOUNT).then(({ status }) => status)).to.equal(303);
  });

  it('says what one may do: the preset, capabilities, classes and policy rules', async () => {
    const { login, roleid } = await colleague({ capabilities: ['login', 'view_delivery'] });
    const other = await colleague({ capabilities: ['login', 'select'] });
    await shop.fixture.control(
      shop.root,
      `mutation {
        create_role_class(input: { name: "the night shift", members: [${roleid}], capabilities: ["repair_delivery"] }) { classid }
        create_policy_rule(input: { name: "own orders", capabilities: ["select", "delete"], targets: ["orders"], roles: [${other.roleid}],
          filter: "customer = 'Ada'" }) { ruleid }
      }`,
    );
    expect(await (await signedIn(login)).page(ACCOUNT))
      // By the class.
      .to.include('<strong>Support</strong>')
      .and.include('You are in the night shift.')
      .and.include('No policy rule lets you see rows');
    expect(await (await signedIn(other.login)).page(ACCOUNT))
      .to.include(
        '<strong>select</strong> where <code>customer = &#39;Ada&#39;</code> of orders (own orders)',
      )
      .and.not.include('<strong>Viewer');
    const admin = await colleague({ capabilities: ['login', 'admin'] });
    expect(await (await signedIn(admin.login)).page(ACCOUNT)).to.include('but change its root role');
    expect(await (await shop.signedIn()).page(ACCOUNT)).to.include('yours is its root role');
  });

  it("changes one's own name", async () => {
    const { login, roleid } = await colleague();
    const browser = await signedIn(login);
    const saved = await submit(browser, { action: 'name', name: ' Ada <b>' });
    expect(saved.headers.get('location')).to.equal(`${ACCOUNT}?done=saved`);
    expect(await browser.page(`${ACCOUNT}?done=saved`))
      .to.include('value="Ada &lt;b&gt;"')
      .and.include('Saved.');
    const { data } = await shop.fixture.control(shop.root, `{ role(filter: "roleid = ${roleid}") { name } }`);
    expect(at(data, 'role.0.name')).to.equal('Ada <b>');
  });

  it('changes the password for those who know the current one, and then signs out everywhere', async () => {
    const { login } = await colleague();
    const [browser, elsewhere] = [await signedIn(login), await signedIn(login)];
    for (const [values, text] of [
      [{ secret: NEXT }, 'Enter your current password and a new one.'],
      [{ current_password: PASSWORD }, 'Enter your current password and a new one.'],
      [{ current_password: 'wrong', secret: NEXT }, 'current_password is not the password of the role.'],
      [{ current_password: PASSWORD, secret: 'password' }, 'The password'],
    ] as const) {
      const response = await submit(browser, { action: 'password', ...values });
      expect(response.status, text).to.be.within(400, 403);
      const html = await response.text();
      expect(html).to.include(text).and.include('Your account');
      for (const secret of [PASSWORD, NEXT]) expect(html).not.to.include(secret);
    }
    const changed = await submit(browser, { action: 'password', current_password: PASSWORD, secret: NEXT });
    expect(changed.headers.get('location')).to.equal('/console/sign-in?done=password');
    expect(await browser.page('/console/sign-in?done=password')).to.include('Your password is changed.');
    expect([await isSignedIn(browser), await isSignedIn(elsewhere)]).to.deep.equal([false, false]);
    await signedIn(login, NEXT);
  });

  it('is no page to set a first password, or to change that of others', async () => {
    const { roleid, login } = await colleague();
    const victim = await colleague();
    const browser = await signedIn(login);
    await submit(browser, {
      action: 'password',
      roleid: String(victim.roleid),
      id: String(victim.roleid),
      current_password: PASSWORD,
      secret: NEXT,
    });
    await signedIn(victim.login);
    await shop.fixture.testDatabase.database.pool.query(
      // As of a role that single sign-on has made.
      'update rowpost.role set password_createtime = null where roleid = $1',
      [roleid],
    );
    const html = await (await signedIn(login, NEXT)).page(ACCOUNT);
    expect(html).to.include('You sign in without a password.').and.not.include('Current password');
  });

  it("signs one's sessions out: another one, all others, and all", async () => {
    const { login } = await colleague();
    const stranger = await colleague();
    const [here, first, second] = [await signedIn(login), await signedIn(login), await signedIn(login)];
    const theirs = await signedIn(stranger.login);
    const html = await here.page(ACCOUNT);
    expect(html).to.include('(this session)').and.include('Firefox on Linux');
    const [one = '', ...more] = idsIn(html);
    expect(more).to.have.length(1);
    const ended = await submit(here, { action: 'end', sessionid: one });
    expect(ended.headers.get('location')).to.equal(`${ACCOUNT}?done=ended`);
    expect([await isSignedIn(first), await isSignedIn(second)].filter(Boolean)).to.have.length(1);
    expect((await submit(here, { action: 'end', sessionid: one })).status).to.equal(404);
    const [notMine = ''] = idsIn(await theirs.page(ACCOUNT)).concat(
      idsIn(await (await signedIn(stranger.login)).page(ACCOUNT)),
    );
    expect((await submit(here, { action: 'end', sessionid: notMine })).status).to.equal(404);
    const program = await shop.fixture.signIn(shop.tenantid, login, PASSWORD);
    const made = await shop.fixture.control(
      program.access_token,
      'mutation { create_api_key(input: { name: "mine" }) { key } }',
    );
    const key = textAt(made, 'data.create_api_key.key');
    const others = await submit(here, { action: 'others' });
    expect(others.headers.get('location')).to.equal(`${ACCOUNT}?done=others`);
    expect(await here.page(`${ACCOUNT}?done=others`)).to.include('All other sessions have ended.');
    expect([await isSignedIn(first), await isSignedIn(second)]).to.deep.equal([false, false]);
    expect(await isSignedIn(theirs)).to.equal(true);
    expect(idsIn(await here.page(ACCOUNT))).to.deep.equal([]);
    expect(at(await shop.fixture.control(key, '{ role { roleid } }'), 'data.role')).to.have.length(1);
    const refresh = { headers: { authorization: `Bearer ${program.refresh_token}` } };
    expect((await shop.fixture.fetch('/auth', refresh)).status).to.equal(401);
    const events = await here.page('/console/sign-ins');
    expect(events).to.include('All other sessions were ended');
    expect((await submit(here, { action: 'all' })).headers.get('location')).to.equal('/console/sign-in');
    expect(await isSignedIn(here)).to.equal(false);
    expect((await shop.fixture.control(key, '{ role { roleid } }')).data).to.equal(undefined);
  });

  it('lists the identities by which one signs in, with when each was linked', async () => {
    const { login, roleid } = await colleague();
    const operator = await shop.fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD);
    const made = await shop.fixture.control(
      operator.access_token,
      `mutation { create_oidc_providers(input: { name: "Work", auth_uri: "https://p.example/", token_uri: "https://p.example/",
        jwks_uri: "https://p.example/" }) { providerid } }`,
    );
    const provider = textAt(made, 'data.create_oidc_providers.providerid');
    const config = await shop.fixture.control(
      shop.root,
      `mutation { create_oidc_config(input: { providerid: ${provider}, client_id: "c", client_secret: "s" }) { confid } }`,
    );
    const linked = await shop.fixture.control(
      shop.root,
      `mutation { create_role_oidc(input: { roleid: ${roleid}, confid: ${textAt(config, 'data.create_oidc_config.confid')}, sub_id: "ada@work" }) { createtime } }`,
    );
    const time = new Date(textAt(linked, 'data.create_role_oidc.createtime')).toISOString().slice(0, 10);
    expect(await (await signedIn(login)).page(ACCOUNT)).to.match(
      new RegExp(`Work, as <code>ada@work</code>, since <time datetime="${time}`),
    );
  });
});
