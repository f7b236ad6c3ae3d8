import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { at } from './webFixture.js';

const ROLES = '/console/roles';
const POLICIES = '/console/policies';

describe('the console’s roles and policy rules', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    csrf = await browser.csrf(ROLES);
    await shop.fixture.control(
      shop.root,
      'mutation { create_role_class(input: {name: "staff"}) { classid } }',
    );
  });
  after(() => shop.close());

  const post = async (path: string, values: Readonly<Record<string, string>>): Promise<Response> =>
    browser.post(`${path}/edit`, { csrf, ...values });
  const classid = async (): Promise<string> =>
    String(
      at(await shop.fixture.control(shop.root, '{ role_class { classid } }'), 'data.role_class.0.classid'),
    );
  const signIn = async (login: string, password: string): Promise<number> =>
    (await shop.fixture.postJson('/auth', { tenantid: shop.tenantid, login, password })).status;
  let made = '';

  it('are sorted by a link in the head of a column, either way, and keep the search', async () => {
    const made = await shop.fixture.control(
      shop.root,
      `mutation {
        a: create_role(input: { login: "sorted b", name: "X", capabilities: [] }) { roleid }
        b: create_role(input: { login: "sorted a", name: "Z", capabilities: [] }) { roleid }
        c: create_role(input: { login: "sorted c", name: "Y", capabilities: [] }) { roleid }
      }`,
    );
    expect(made.errors).to.equal(undefined);
    const listed = async (sort: string): Promise<readonly [string, string]> => {
      const html = await browser.page(`${ROLES}?search=sorted${sort}`);
      const logins = [...html.matchAll(/>sorted (\w)<\/a>/g)].map(([, login]) => login).join('');
      const sorted = /aria-sort="(\w+ending)"><a href="([^"]+)">(\w+)/.exec(html);
      expect(sorted?.[2]).to.include('search=sorted');
      return [logins, `${sorted?.[3] ?? ''} ${sorted?.[1] ?? ''}`];
    };
    expect(await listed('')).to.deep.equal(['abc', 'Login ascending']);
    expect(await listed('&sort=login-down')).to.deep.equal(['cba', 'Login descending']);
    expect(await listed('&sort=name')).to.deep.equal(['bca', 'Name ascending']);
    expect(await listed('&sort=name-down')).to.deep.equal(['acb', 'Name descending']);
    expect(await listed('&sort=number')).to.deep.equal(['bac', 'Number ascending']);
    for (const unknown of ['constructor', 'login desc', '-down', 'password_hash'])
      expect(await listed(`&sort=${encodeURIComponent(unknown)}`), unknown).to.deep.equal([
        'abc',
        'Login ascending',
      ]);
  });

  it('find roles by part of their login, excluding deleted ones', async () => {
    const page = await browser.page(`${ROLES}?search=LER`);
    expect(page).to.include('>clerk<').and.not.include('>viewer<');
    expect(await browser.page(`${ROLES}?search=%25`)).to.include('No role matches');
  });

  it('create a role that can sign in, and update it: an empty password keeps the current one', async () => {
    const response = await post(ROLES, {
      login: 'ada',
      name: 'Ada <L>',
      secret: 'a secret of hers',
      may_login: 'on',
      may_select: 'on',
      [`in_${await classid()}`]: 'on',
    });
    expect(response.status, await response.text()).to.equal(303);
    made = /id=(\d+)/.exec(response.headers.get('location') ?? '')?.[1] ?? '';
    expect(await signIn('ada', 'a secret of hers')).to.equal(200);
    const page = await browser.page(`${ROLES}/edit?id=${made}`);
    expect(page).to.include('Ada &lt;L&gt;').and.not.include('a secret of hers');
    expect(page.match(/name="(\w+)" checked/g)).to.have.members([
      'name="may_login" checked',
      'name="may_select" checked',
      `name="in_${await classid()}" checked`,
    ]);

    const values = { id: made, login: 'ada', name: 'Ada', may_login: 'on', may_select: 'on' };
    expect((await post(ROLES, { ...values, secret: '' })).status).to.equal(303);
    expect(await signIn('ada', 'a secret of hers')).to.equal(200);
    await post(ROLES, { ...values, secret: 'another secret of hers' });
    expect(await signIn('ada', 'a secret of hers')).to.equal(401);
    expect(await browser.page(`${ROLES}/edit?id=${made}`)).to.not.include(`in_${await classid()}" checked`);
  });

  it('show what a role may do, by which rule, and which capabilities it lacks', async () => {
    expect(await browser.page(`${ROLES}/edit?id=${made}`)).to.include('No row of any table');
    const response = await post(POLICIES, {
      name: 'Paid <orders>',
      logins: 'ada',
      class_names: 'staff',
      may_select: 'on',
      may_update: 'on',
      targets: 'orders',
      filter: "status = 'paid'",
    });
    expect(response.status, await response.text()).to.equal(303);
    const page = (await browser.page(`${ROLES}/edit?id=${made}`)).replace(/\s+/g, ' ');
    expect(page)
      .to.match(/<strong>select<\/strong> where <code>status = (&#39;|&#x27;)paid/)
      .and.include('Paid &lt;orders&gt;')
      .and.include('The rule grants update too');
    const root = await browser.page(`${ROLES}?search=root`);
    const rootId = /edit\?id=(\d+)/.exec(root)?.[1] ?? '';
    expect(await browser.page(`${ROLES}/edit?id=${rootId}`)).to.include('Everything in this tenant');
  });

  it('show who each rule is for, change it and delete it', async () => {
    const list = (await browser.page(POLICIES)).replace(/\s+/g, ' ');
    expect(list).to.include('ada, class staff may <strong>select, update</strong>');
    const id = /policies\/edit\?id=(\d+)/.exec(list)?.[1] ?? '';
    const form = await browser.page(`${POLICIES}/edit?id=${id}`);
    expect(form).to.include('value="ada"').and.include('value="staff"').and.include('value="orders"');
    await post(POLICIES, { id, name: 'All', may_select: 'on', targets: 'orders' });
    expect((await browser.page(POLICIES)).replace(/\s+/g, ' ')).to.include(
      'Every role may <strong>select</strong> every row of orders',
    );
    await post(POLICIES, { id, action: 'delete' });
    expect(await browser.page(POLICIES)).to.include('There is no policy rule yet');
  });

  it('name roles without a login by number, and save them again unchanged', async () => {
    const created = await shop.fixture.control(
      shop.root,
      'mutation { create_role(input: {name: "emails, nightly", capabilities: ["select"]}) { roleid } }',
    );
    const roleid = String(at(created, 'data.create_role.roleid'));
    const values = { name: 'by number', may_select: 'on', targets: 'orders' };
    const make = `${POLICIES}/edit?roleid=${roleid}`;
    expect(await browser.page(`${ROLES}/edit?id=${roleid}`)).to.include(`href="${make}"`);
    expect(await browser.page(make)).to.include(`name="logins" value="emails  nightly (${roleid})"`);
    expect((await post(POLICIES, { ...values, logins: roleid })).status).to.equal(303);
    const id = /policies\/edit\?id=(\d+)/.exec(await browser.page(POLICIES))?.[1] ?? '';
    const label = `emails  nightly (${roleid})`;
    expect(await browser.page(`${POLICIES}/edit?id=${id}`)).to.include(`value="${label}"`);
    expect((await post(POLICIES, { ...values, id, logins: label })).status).to.equal(303);
    const saved = await shop.fixture.control(shop.root, '{ policy_rule { roles } }');
    expect((at(saved, 'data.policy_rule.0.roles') as readonly unknown[]).map(String)).to.deep.equal([roleid]);
    await post(POLICIES, { id, action: 'delete' });
  });

  it('show errors next to the field and keep the input', async () => {
    const weak = await post(ROLES, { login: 'eve', secret: 'eve', may_login: 'on' });
    const page = await weak.text();
    expect([weak.status, page.includes('role="alert"'), page.includes('value="eve"')]).to.deep.equal([
      400,
      true,
      true,
    ]);
    for (const [values, complaint] of [
      [{ logins: 'nobody-of-that-name' }, 'There is no role with the login or number'],
      [{ logins: 'gone (999999)' }, 'There is no role with the login or number'],
      [{ class_names: 'none' }, 'There is no class'],
      [{ targets: 'nothing' }, 'nothing'],
      [{ filter: 'status = (' }, 'role="alert"'],
    ] as const) {
      const given = { name: 'kept', may_select: 'on', targets: 'orders', ...values };
      const response = await post(POLICIES, given);
      expect(response.status).to.equal(400);
      expect(await response.text())
        .to.include(complaint)
        .and.include('value="kept"');
    }
  });

  it('delete a role and end its sessions', async () => {
    const hers = await shop.fixture.postJson('/auth', {
      tenantid: shop.tenantid,
      login: 'ada',
      password: 'another secret of hers',
    });
    expect(hers.status).to.equal(200);
    expect((await post(ROLES, { id: made, action: 'delete' })).status).to.equal(303);
    expect(await signIn('ada', 'another secret of hers')).to.equal(401);
    expect(await browser.page(`${ROLES}?search=ada`)).to.include('No role matches');
    expect(await browser.page('/console/rules/edit'), 'roles for a rule').not.to.include(`value="${made}"`);
  });

  it('are for admins, and reject forms from other sites', async () => {
    const viewer = await shop.signedIn('shop', 'viewer');
    const refused = await viewer.get(`${ROLES}/edit?id=${made}`);
    expect(refused.status).to.equal(403);
    const forged = await browser.post(`${ROLES}/edit`, { csrf: 'x', login: 'eve', may_login: 'on' });
    expect(forged.status).to.equal(403);
    const other = await shop.signedIn('other');
    const theirs = await other.get(`${ROLES}/edit?id=${made}`);
    expect(theirs.status).to.equal(404);
  });
});
