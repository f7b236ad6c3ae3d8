import { expect } from 'chai';
import { ROOT_LOGIN, ROOT_PASSWORD, textAt, type Json } from '../webFixture.js';
import { HttpBrowser } from './support/httpBrowser.js';
import { startMisbehaving, type MisbehavingFixture } from './support/misbehavingFixture.js';

const PAGE = '/console/identity-providers';
const HTML = { headers: { accept: 'text/html' } };

describe('a trial of single sign-on by an administrator', () => {
  let started: MisbehavingFixture;
  let confid: number;
  let browser: HttpBrowser;
  let names = 0;

  before(async () => {
    started = await startMisbehaving({ env: { SIGN_INS_PER_ADDRESS: '0' } });
  });
  after(() => started.stop());
  beforeEach(async () => {
    const { fixture, provider } = started;
    provider.misbehavior = { discovery: { '': provider.documentWithUserInfo } };
    confid = await fixture.createConfig(
      await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer }),
    );
    browser = await openConsole();
  });

  async function openConsole(login = ROOT_LOGIN, password = ROOT_PASSWORD): Promise<HttpBrowser> {
    const opened = new HttpBrowser();
    const response = await post(opened, '/console/sign-in', { tenant: 'shop', login, password });
    expect(response.status).to.equal(303);
    return opened;
  }
  const post = (
    by: HttpBrowser,
    path: string,
    values: Readonly<Record<string, string>>,
    origin = started.fixture.baseUrl,
  ): Promise<Response> =>
    by.send(started.fixture.baseUrl + path, {
      method: 'POST',
      headers: { origin, accept: 'text/html' },
      body: new URLSearchParams(values),
    });
  const csrf = async (by: HttpBrowser): Promise<string> =>
    /name="csrf" value="([^"]+)"/.exec(
      await (await by.send(`${started.fixture.baseUrl}/console/account`, HTML)).text(),
    )![1]!;
  const control = async (object: string, input: Json): Promise<Json> => {
    const { fixture } = started;
    const key = { role_class: 'classid', role: 'roleid' }[object] ?? 'confid';
    const made = await fixture.web.control(
      fixture.root,
      `mutation ($input: ${object}Input) { create_${object}(input: $input) { ${key} } }`,
      { input },
    );
    return { id: Number(textAt(made, `data.create_${object}.${key}`)) };
  };
  /** As far as the provider's redirect back. @returns the address of the callback */
  async function start(by = browser): Promise<string> {
    const response = await post(by, `${PAGE}/try`, { csrf: await csrf(by), confid: String(confid) });
    expect(response.status).to.equal(200);
    const url = response.headers.get('refresh')!.replace('0; url=', '');
    expect(url.startsWith(started.provider.issuer)).to.equal(true);
    return (await by.follow(url, (next) => !next.startsWith(started.fixture.baseUrl))).url;
  }
  const finish = async (url: string, by = browser): Promise<readonly [number, string]> => {
    const response = await by.send(url, HTML);
    return [response.status, await response.text()];
  };
  /** All that a sign-in may leave behind. */
  const everything = async (): Promise<unknown> =>
    (
      await started.fixture.web.testDatabase.database.pool.query(
        `select (select count(*) from rowpost.oidc_sign_in) as begun,
           (select json_agg(r order by roleid) from rowpost.role r) as roles,
           (select json_agg(m order by roleid, confid) from rowpost.role_oidc m) as mappings,
           (select json_agg(s.sessionid order by s.sessionid) from rowpost.session s) as sessions,
           (select json_agg(e order by eventid) from rowpost.sign_in_event e) as events`,
      )
    ).rows;

  async function provision(): Promise<number> {
    const { fixture } = started;
    const parent = await fixture.web.createMember(fixture.root, `parent ${(names += 1)}`, [
      'login',
      'select',
    ]);
    const { id: classid } = await control('role_class', { name: `Staff ${names}`, members: [parent.roleid] });
    await control('oidc_group_class', { confid, group_name: 'staff', classid });
    await control('oidc_provisioning', {
      confid,
      parentid: parent.roleid,
      name: '{{ claims.name }}',
      login: '{{ claims.email }}',
      groups_claim: 'realm_access.roles',
    });
    return parent.roleid;
  }

  it('shows the claims, those of UserInfo too, which count, and what would be made of them', async () => {
    const parentid = await provision();
    started.provider.misbehavior = {
      ...started.provider.misbehavior,
      claims: { sub: 'ada', name: 'Ada <Lovelace>', realm_access: { roles: ['staff'] }, color: 'blue' },
      userInfo: { sub: 'ada', email: `ada${names}@example.com` },
    };
    const url = await start();
    const before = (await everything()) as [{ begun: string }];
    const [status, html] = await finish(url);
    expect(status).to.equal(200);
    const text = html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    expect(text).to.include(`A new role, below role ${parentid}`);
    expect(text).to.include(`Login ada${names}@example.com Name Ada &lt;Lovelace&gt;`);
    expect(text).to.include(`Classes Staff ${names} `);
    for (const name of ['sub', 'name', 'email', 'realm_access'])
      expect(text, name).to.match(new RegExp(` ${name} used `));
    for (const name of ['iss', 'aud', 'exp', 'nonce'])
      expect(text, name).to.match(new RegExp(` ${name} checked `));
    expect(text).to.include(' color blue ');
    expect(html)
      .not.to.match(/eyJ[\w-]+\./)
      .and.not.include('opaque');
    const [after] = (await everything()) as [{ begun: string }];
    expect(after).to.deep.equal({ ...before[0], begun: String(Number(before[0].begun) - 1) });
    expect((await browser.send(`${started.fixture.baseUrl}/console/account`, HTML)).status).to.equal(200);
    // The page with the result may try again.
    expect(html).to.include(`action="${PAGE}/try"`);
  });

  it('says why the person would be refused, or what is wrong with the provider', async () => {
    const refused = await finish(await start());
    expect(refused[0]).to.equal(200);
    expect(refused[1]).to.include('OIDC_ROLE_NOT_MAPPED').and.include('somebody');
    for (const [misbehavior, status, message] of [
      [{ signature: 'other key' }, 401, /signature/],
      [{ claims: { aud: 'another' } }, 401, /claim aud/],
      [{ callback: { error: 'access_denied' } }, 403, /did not sign the user in/],
    ] as const) {
      started.provider.misbehavior = misbehavior;
      const [shown, html] = await finish(await start());
      expect([shown, message.test(html)], String(message)).to.deep.equal([status, true]);
      expect(html).to.include('Try to sign in');
    }
  });

  it('does not take the claims of another person at UserInfo', async () => {
    await provision();
    started.provider.misbehavior = {
      ...started.provider.misbehavior,
      claims: { sub: 'ada', name: 'Ada' },
      userInfo: { sub: 'grace', email: 'grace@example.com', realm_access: { roles: ['staff'] } },
    };
    const [status, html] = await finish(await start());
    expect(status).to.equal(502);
    expect(html).to.include('UserInfo').and.not.include('grace');
  });

  it('is completed once, in the browser and by the session that began it', async () => {
    const url = await start();
    const stateInvalid = async (by: HttpBrowser, what: string, address = url): Promise<void> => {
      const [status, html] = await finish(address, by);
      expect([status, html.includes('OIDC_STATE_INVALID')], what).to.deep.equal([400, true]);
    };
    await stateInvalid(new HttpBrowser(), 'another browser');
    await stateInvalid(await openConsole(), 'another session in another browser');
    const sameBrowser = browser.copy();
    await post(sameBrowser, '/console/sign-in', {
      tenant: 'shop',
      login: ROOT_LOGIN,
      password: ROOT_PASSWORD,
    });
    await stateInvalid(sameBrowser, 'another session in the same browser');
    const replay = browser.copy();
    expect((await finish(url))[0]).to.equal(200);
    await stateInvalid(replay, 'replayed');
    await stateInvalid(browser, 'reloaded');
    const ended = await start();
    await post(browser, '/console/sign-out', { csrf: await csrf(browser) });
    const over = await browser.send(ended, HTML);
    expect([over.status, over.headers.get('location')]).to.deep.equal([
      303,
      '/console/sign-in?next=%2Fconsole%2F',
    ]);
  });

  it('never signs anybody in, and a sign-in is no trial', async () => {
    const { fixture, roleid } = started;
    await fixture.map(roleid, confid, 'somebody');
    const before = await everything();
    const url = await start();
    const { port } = new URL(fixture.baseUrl);
    const cookies = (response: Response): string => response.headers.getSetCookie().join('\n');
    // Its cookie under the name of a sign-in's.
    const renamed = browser.copy();
    const begun = await post(renamed, `${PAGE}/try`, { csrf: await csrf(renamed), confid: String(confid) });
    const [, id, secret] = /rowpost_trial_(\w+)=([^;]+)/.exec(cookies(begun))!;
    const back = await renamed.follow(
      begun.headers.get('refresh')!.replace('0; url=', ''),
      (next) => !next.startsWith(fixture.baseUrl),
    );
    const thief = new HttpBrowser();
    thief.setCookie(`http://localhost:${port}`, `rowpost_oidc_${id}`, secret!);
    const stolen = await thief.send(back.url);
    expect(stolen.status).to.equal(400);
    expect(cookies(stolen)).not.to.include('rowpost_console');
    // A sign-in's under the name of a trial's.
    const response = await browser.send(`${fixture.baseUrl}/oidc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ tenantid: fixture.tenant.tenantid, roleid, confid }),
    });
    const [, other, value] = /rowpost_oidc_(\w+)=([^;]+)/.exec(cookies(response))!;
    browser.setCookie(`http://localhost:${port}`, `rowpost_trial_${other}`, value!);
    const address = textAt(await response.json(), 'authorization_url');
    const callback = await browser.follow(address, (next) => !next.startsWith(fixture.baseUrl));
    expect((await finish(callback.url))[0]).to.equal(400);
    expect((await finish(url))[0]).to.equal(200);
    const { begun: left, ...after } = ((await everything()) as [Json])[0];
    const { begun: earlier, ...unchanged } = (before as [Json])[0];
    expect(after).to.deep.equal(unchanged);
    expect(Number(left)).to.be.above(Number(earlier));
  });

  it('is for administrators alone, when it begins and when it ends, from a form of the console', async () => {
    const { fixture } = started;
    const password = 'a secret of mine';
    const made = await control('role', {
      login: `admin ${confid}`,
      password,
      capabilities: ['login', 'admin'],
    });
    const admin = await openConsole(`admin ${confid}`, password);
    const values = { csrf: await csrf(admin), confid: String(confid) };
    expect((await post(admin, `${PAGE}/try`, { ...values, csrf: 'made up' })).status).to.equal(403);
    expect((await post(admin, `${PAGE}/try`, values, 'https://evil.example')).status).to.equal(403);
    expect((await admin.send(`${fixture.baseUrl}${PAGE}/try`, HTML)).status).to.equal(404);
    expect((await post(admin, `${PAGE}/try`, { ...values, confid: '99999' })).status).to.equal(404);
    const url = await start(admin);
    await fixture.web.control(
      fixture.root,
      'mutation ($roleid: ID!) { update_role(roleid: $roleid, input: { capabilities: ["login"] }) { roleid } }',
      { roleid: made['id'] },
    );
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await finish(url, admin))[0], 'no longer an administrator').to.equal(403);
    expect((await post(admin, `${PAGE}/try`, values)).status).to.equal(403);
  });

  it('shows huge claims in part, as text', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, n) => [`claim ${n} ${'n'.repeat(50)}`, n]),
    );
    started.provider.misbehavior = {
      claims: { sub: 'x'.repeat(30_000), '<script>alert(1)</script>': '<img src=x>', ...many },
    };
    const [status, html] = await finish(await start());
    expect(status).to.equal(200);
    expect(html.length).to.be.below(60_000);
    expect(html)
      .to.match(/And 9\d\d more, not shown/)
      .and.not.include('<script>alert')
      .and.not.include('<img');
    started.provider.misbehavior = {
      payload: (json) => json.replace(/}$/, `,"deep":${'['.repeat(2_000)}${']'.repeat(2_000)}}`),
    };
    const [deep, refused] = await finish(await start());
    expect([deep, refused.includes('nested too deeply')]).to.deep.equal([401, true]);
  });
});
