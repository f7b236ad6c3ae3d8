import { expect } from 'chai';
import { pino } from 'pino';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { ConsoleBrowser } from '../api/consoleBrowser.js';
import { at, codeOf, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';
import { startFakeApi } from '../support/fakeApi.js';
import { waitFor } from '../support/waitFor.js';

const PASSWORD = 'correct horse battery';
const NEXT = 'another correct horse';
const FORGOTTEN = '/console/sign-in/forgotten';
const SENDER = 'mutation ($sender: String) { Utility { set_password_sender(sender: $sender) } }';
const LINK = /(http[^\s"<]*)(\/console\/sign-in\/reset\/[\w-]+)/;

interface Kept {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly sender: string;
}

describe('attack: links for forgotten passwords', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let names = 0;
  const lines: string[] = [];

  before(async () => {
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    const env = { MAIL_TRANSPORT: 'mailbox', SIGN_INS_PER_ADDRESS: '0', TRUST_PROXY: '1' };
    fixture = await WebFixture.start({ env, log });
    tenant = await fixture.createTenant('shop', 'create table note (id int primary key)');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await fixture.control(root, SENDER, { sender: 'Shop <accounts@shop.example>' });
  });
  after(() => fixture.stop());

  const query = (text: string, values: readonly unknown[] = []): Promise<{ rows: Json[] }> =>
    fixture.testDatabase.database.pool.query(text, [...values]);
  const colleague = async (input: Json = {}): Promise<{ roleid: number; login: string }> => {
    const login = `ada.${(names += 1)}@example.com`;
    const made = await fixture.control(
      root,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid login } }',
      { input: { login, password: PASSWORD, capabilities: ['login'], ...input } },
    );
    return {
      roleid: Number(textAt(made, 'data.create_role.roleid')),
      login: textAt(made, 'data.create_role.login'),
    };
  };
  const request = (
    login: string,
    { tenant: name = 'shop', headers = {} }: { tenant?: string; headers?: Record<string, string> } = {},
  ): Promise<Response> => new ConsoleBrowser(fixture).post(FORGOTTEN, { tenant: name, login }, headers);
  const emailsTo = async (login: string): Promise<readonly Kept[]> => {
    const { rows } = await query(
      'select subject, text, html, sender from rowpost.mailbox where $1 = any (recipients) order by mailid',
      [login],
    );
    return rows as unknown as readonly Kept[];
  };
  /** The links in the emails to a login, as soon as there are so many. */
  const linksTo = async (login: string, count = 1): Promise<readonly string[]> => {
    await waitFor('emails about passwords', async () => (await emailsTo(login)).length >= count);
    return (await emailsTo(login)).flatMap(({ text }) => LINK.exec(text)?.[2] ?? []);
  };
  const linkTo = async (login: string): Promise<string> => {
    expect((await request(login)).status).to.equal(303);
    return (await linksTo(login)).at(-1) ?? '';
  };
  const choose = (path: string, secret = NEXT, browser = new ConsoleBrowser(fixture)): Promise<Response> =>
    browser.post('/console/sign-in/invitation/', {
      invitation: path.slice(path.lastIndexOf('/') + 1),
      secret,
    });
  const opens = async (path: string): Promise<boolean> =>
    (await new ConsoleBrowser(fixture).get(path)).status === 200;
  const canSignIn = async (login: string, password: string): Promise<boolean> =>
    (await fixture.postJson('/auth', { tenantid: tenant.tenantid, login, password })).status === 200;
  const update = (roleid: number, input: Json): Promise<GraphqlResult> =>
    fixture.control(
      root,
      'mutation ($id: ID!, $input: roleInput) { update_role(roleid: $id, input: $input) { roleid } }',
      { id: roleid, input },
    );

  it('let the owner of the address choose a password, once, end all that was signed in, and say so', async () => {
    const { roleid, login } = await colleague();
    const before = await fixture.signIn(tenant.tenantid, login, PASSWORD);
    const made = await fixture.control(
      before.access_token,
      'mutation { create_api_key(input: { name: "mine" }) { key } }',
    );
    const key = textAt(made, 'data.create_api_key.key');
    const page = await new ConsoleBrowser(fixture).page('/console/sign-in?tenant=shop');
    expect(page).to.include('Forgotten your password?').and.include(`href="${FORGOTTEN}?tenant=shop"`);
    expect(await new ConsoleBrowser(fixture).page('/console/sign-in?tenant=0'), 'no sender').to.include(
      'ask an administrator of the tenant for a link',
    );
    expect(await new ConsoleBrowser(fixture).page(`${FORGOTTEN}?tenant=shop`)).to.include('value="shop"');
    const link = await linkTo(login);
    const [email] = await emailsTo(login);
    expect(email?.sender).to.equal('Shop <accounts@shop.example>');
    expect(email?.subject).to.equal('A new password for shop');
    expect(email?.html).to.include(link).and.include(login);
    // Scanners and previews open links, and may ask for the headers alone.
    for (let times = 0; times < 3; times += 1) expect(await opens(link)).to.equal(true);
    expect((await fixture.fetch(link, { method: 'HEAD' })).status).to.equal(200);
    const browser = new ConsoleBrowser(fixture);
    expect(await browser.page(link))
      .to.include(login)
      .and.include('At least 8 characters');
    expect((await choose(link, login, browser)).status).to.equal(400);
    expect((await choose(link, NEXT, browser)).headers.get('location')).to.equal('/console/');
    expect((await browser.get('/console/account')).status).to.equal(200);
    expect([await canSignIn(login, PASSWORD), await canSignIn(login, NEXT)]).to.deep.equal([false, true]);
    expect(await opens(link)).to.equal(false);
    expect((await choose(link, PASSWORD)).status).to.equal(404);
    for (const token of [before.access_token, key])
      expect((await fixture.control(token, '{ role { roleid } }')).data, token.slice(0, 8)).to.equal(
        undefined,
      );
    await waitFor('emails about passwords', async () => (await emailsTo(login)).length === 2);
    const [, notice] = await emailsTo(login);
    expect(notice?.subject).to.equal('Your password for shop was changed');
    expect(notice?.text).to.not.match(LINK);
    const { data } = await fixture.control(
      root,
      `{ audit_event(filter: "key = '${roleid}' and object = 'role'", ordering: ["time desc"], limit: 1) { login operation }
         role(filter: "roleid = ${roleid}") { password_setby } }`,
    );
    expect(at(data, 'audit_event.0')).to.deep.equal({ login, operation: 'update' });
    expect(at(data, 'role.0.password_setby')).to.equal(roleid);
    await waitFor('emails about passwords', async () => {
      const events = await fixture.control(
        root,
        `{ sign_in_event(filter: "roleid = ${roleid} and kind = 'password_email'") { reason } }`,
      );
      return (at(events, 'data.sign_in_event') as readonly unknown[]).length > 0;
    });
  });

  it('answer alike, and send nothing, for every login that gets none', async () => {
    const { login } = await colleague();
    const known = await request(login);
    const logins: Record<string, string> = {
      unknown: 'nobody.at.all@example.com',
      'no storable text': 'a\0@b.example',
    };
    logins['a role without an address'] = (await colleague({ login: 'clerk' })).login;
    logins['an address with a name'] = (await colleague({ login: 'Ada <ada@example.com>' })).login;
    logins['a role that may not sign in'] = (await colleague({ capabilities: ['select'] })).login;
    logins['a role without a password'] = (await colleague({ password: undefined })).login;
    const gone = await colleague();
    await update(gone.roleid, { deleted: true });
    logins['a deleted role'] = gone.login;
    const renamed = await colleague({ login: 'renamed' });
    const own = await fixture.signIn(tenant.tenantid, 'renamed', PASSWORD);
    logins["somebody else's address"] = 'victim@example.com';
    const named = await fixture.control(
      own.access_token,
      `mutation { update_role(roleid: ${renamed.roleid}, input: { login: "victim@example.com", current_password: "${PASSWORD}" }) { login } }`,
    );
    expect(at(named, 'data.update_role.login')).to.equal('victim@example.com');
    logins['the root role, whose email administrators could redirect'] = 'root@example.com';
    await fixture.control(
      root,
      `mutation { update_role(roleid: ${tenant.rootRoleid}, input: { login: "root@example.com" }) { roleid } }`,
    );
    const bounced = await colleague();
    await fixture.control(
      root,
      `mutation { create_email_suppression(input: { address: "${bounced.login}" }) { address } }`,
    );
    logins['a suppressed address'] = bounced.login;
    logins['another case'] = login.toUpperCase();
    logins['the anonymous role'] = 'Nobody';
    const silent = await fixture.createTenant('silent');
    const seen = async (response: Response): Promise<object> => ({
      status: response.status,
      headers: [...response.headers].filter(([name]) => !/^(date|x-request-id|location)$/.test(name)),
      location: response.headers.get('location')?.replace(/tenant=\w+/, ''),
      html: await response.text(),
    });
    const expected = await seen(known);
    for (const [what, text] of Object.entries(logins))
      expect(await seen(await request(text)), what).to.deep.equal(expected);
    for (const other of [String(silent.tenantid), '0', '99999', 'no such tenant'])
      expect(await seen(await request('root', { tenant: other })), other).to.deep.include({ status: 303 });
    // Whatever was sent for them came before this.
    const last = await colleague();
    await linkTo(last.login);
    const { rows } = await query('select unnest(recipients) as address from rowpost.mailbox');
    const addresses = rows.map(({ address }) => address);
    expect(addresses).to.include.members([login, last.login]);
    for (const [what, text] of Object.entries(logins)) expect(addresses, what).not.to.include(text);
    const { rows: resets } = await query(
      'select roleid from rowpost.password_reset where roleid = any ($1)',
      [[renamed.roleid, tenant.rootRoleid, gone.roleid]],
    );
    expect(resets).to.deep.equal([]);
    expect(await new ConsoleBrowser(fixture).page('/console/sign-in?tenant=silent')).not.to.include(
      FORGOTTEN,
    );
    await fixture.control(
      root,
      `mutation { update_role(roleid: ${tenant.rootRoleid}, input: { login: "root" }) { roleid } }`,
    );
  });

  it('are three an hour for a role, all of which work, until one is used', async () => {
    const { login } = await colleague();
    for (let times = 0; times < 3; times += 1) await request(login);
    const links = await linksTo(login, 3);
    expect(new Set(links).size).to.equal(3);
    for (let times = 0; times < 5; times += 1) expect((await request(login)).status).to.equal(303);
    await linkTo((await colleague()).login);
    expect(await linksTo(login, 3)).to.have.length(3);
    const [first = '', second = '', third = ''] = links;
    // Two at once: one of them wins.
    const chosen = await Promise.all([choose(first, NEXT), choose(second, PASSWORD)]);
    expect(chosen.map(({ status }) => status).toSorted()).to.deep.equal([303, 404]);
    const works = [await canSignIn(login, NEXT), await canSignIn(login, PASSWORD)];
    expect(works).to.deep.equal(chosen.map(({ status }) => status === 303));
    expect([await opens(first), await opens(second), await opens(third)]).to.deep.equal([
      false,
      false,
      false,
    ]);
    const { rows } = await query(
      'select from rowpost.password_reset where tenantid = $1 and expires <= now()',
      [tenant.tenantid],
    );
    expect(rows).to.deep.equal([]);
  });

  it('are a hundred an hour for a tenant', async () => {
    const other = await fixture.createTenant('crowd');
    const own = (await fixture.signIn(other.tenantid)).access_token;
    await fixture.control(own, SENDER, { sender: 'accounts@crowd.example' });
    await query(
      `insert into rowpost.role (tenantid, login, admin_login, password_hash, capabilities, parentid)
       select $1, 'p' || i || '@crowd.example', 'p' || i || '@crowd.example', r.password_hash, '{login}', r.roleid
       from generate_series(1, 105) i, rowpost.role r where r.roleid = $2`,
      [other.tenantid, other.rootRoleid],
    );
    for (let i = 1; i <= 105; i += 1) await request(`p${i}@crowd.example`, { tenant: 'crowd' });
    const sent = async (): Promise<number> =>
      (await query('select from rowpost.mailbox where tenantid = $1', [other.tenantid])).rows.length;
    await waitFor('emails about passwords', async () => (await sent()) === 100);
    await linkTo((await colleague()).login);
    expect(await sent()).to.equal(100);
  });

  it('are twenty requests an hour from an address', async () => {
    const limited = await WebFixture.start({ env: { MAIL_TRANSPORT: 'mailbox', TRUST_PROXY: '1' } });
    try {
      const from = (address: string): Promise<Response> =>
        new ConsoleBrowser(limited).post(
          FORGOTTEN,
          { tenant: 'shop', login: 'x@example.com' },
          { 'x-forwarded-for': address },
        );
      for (let times = 0; times < 20; times += 1) expect((await from('192.0.2.1')).status).to.equal(303);
      const refused = await from('192.0.2.1');
      expect(refused.status).to.equal(429);
      expect(Number(refused.headers.get('retry-after'))).to.be.within(3_000, 3_600);
      expect((await from('192.0.2.2')).status).to.equal(303);
    } finally {
      await limited.stop();
    }
  });

  it('end with their time and with what ends the sessions of the role', async () => {
    const ends: Readonly<Record<string, (roleid: number) => Promise<unknown>>> = {
      'its time': (roleid) =>
        query("update rowpost.password_reset set expires = now() - interval '1 s' where roleid = $1", [
          roleid,
        ]),
      'a password': (roleid) => update(roleid, { password: 'the words of the admin' }),
      'the loss of login': (roleid) => update(roleid, { capabilities: [] }),
      'the end of its sessions': (roleid) =>
        fixture.control(root, `mutation { Utility { end_sessions(roleid: ${roleid}) } }`),
      'the end of the role, and its return': async (roleid) => {
        await update(roleid, { deleted: true });
        await update(roleid, { deleted: false });
      },
    };
    for (const [what, end] of Object.entries(ends)) {
      const { roleid, login } = await colleague();
      const link = await linkTo(login);
      const { rows } = await query(
        'select extract(epoch from expires - now()) as seconds from rowpost.password_reset where roleid = $1',
        [roleid],
      );
      expect(Number(rows[0]?.['seconds'])).to.be.within(3_500, 3_600);
      await end(roleid);
      expect(await opens(link), what).to.equal(false);
      expect((await choose(link)).status, what).to.equal(404);
      expect(await canSignIn(login, NEXT), what).to.equal(false);
    }
    const { login } = await colleague();
    const link = await linkTo(login);
    const suspend = (suspended: boolean): Promise<unknown> =>
      query('update rowpost.tenant set suspended = $2 where tenantid = $1', [tenant.tenantid, suspended]);
    await suspend(true);
    expect([await opens(link), (await choose(link)).status]).to.deep.equal([false, 404]);
    await suspend(false);
    expect(await opens(link)).to.equal(true);
  });

  it('lead to BASE_URL whatever the request says, and are asked for by our own pages alone', async () => {
    const { login } = await colleague();
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
      expect((await request(login, { headers })).status).to.equal(403);
    const sent = await request(login, {
      headers: {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example',
        'x-original-url': '//evil.example/',
      },
    });
    expect(sent.status).to.equal(303);
    await linksTo(login);
    const emails = await emailsTo(login);
    expect(emails).to.have.length(1);
    for (const text of [emails[0]?.text, emails[0]?.html]) {
      expect(LINK.exec(text ?? '')?.[1]).to.equal(fixture.config.baseUrl);
      expect(text).not.to.include('evil');
    }
  });

  it('print what tenants are called as text', async () => {
    const { login } = await colleague();
    await fixture.control(
      root,
      `mutation { Utility { set_sign_in_brand(name: "<a href='//evil'>Shop</a> & {{ 7*7 }}") { name } } }`,
    );
    await request(login);
    await linksTo(login);
    const [email] = await emailsTo(login);
    expect(email?.html)
      .to.include('&lt;a href=')
      .and.include('{{ 7*7 }}')
      .and.not.include("<a href='//evil'");
    await fixture.control(root, 'mutation { Utility { set_sign_in_brand { name } } }');
  });

  it('are not guessed, and stored as hashes, neither logged nor sent to other sites', async () => {
    const { login } = await colleague();
    const link = await linkTo(login);
    const secret = link.slice(link.lastIndexOf('/') + 1);
    const random = secret.slice(secret.indexOf('-') + 1);
    expect(random).to.have.length(43);
    for (const guess of [
      `${secret.slice(0, -2)}AA`,
      secret.slice(0, -1),
      secret.replace(/^\d+/, '99999'),
      '%00',
    ])
      expect(await opens(`/console/sign-in/reset/${encodeURIComponent(guess)}`), guess).to.equal(false);
    const page = await new ConsoleBrowser(fixture).get(link);
    expect(page.headers.get('referrer-policy')).to.equal('strict-origin');
    expect(page.headers.get('cache-control')).to.include('no-store');
    expect(page.headers.get('x-robots-tag')).to.equal('noindex');
    expect(await page.text()).not.to.match(/(src|href|action)="(?!\/|#|data:)/);
    await choose(link, 'short');
    const { rows } = await query(
      `select row_to_json(i)::text as row from rowpost.password_reset i
       union all select row_to_json(e)::text from rowpost.audit_event e
       union all select row_to_json(e)::text from rowpost.sign_in_event e`,
    );
    for (const { row } of rows) expect(row).not.to.include(random);
    await choose(link);
    expect(lines.length).to.be.above(10);
    for (const line of lines) expect(line).not.to.include(random);
  });

  it('need a sender, which administrators of a tenant choose', async () => {
    const plain = await fixture.createMember(root, 'plain', ['login']);
    expect(codeOf(await fixture.control(plain.token, SENDER, { sender: 'x@example.com' }))).to.equal(
      'PERMISSION_DENIED',
    );
    const operator = await fixture.signIn(0, 'pxadmin', 'installation root');
    expect(
      codeOf(await fixture.control(operator.access_token, SENDER, { sender: 'x@example.com' })),
    ).to.equal('PERMISSION_DENIED');
    for (const sender of [
      'nobody',
      'a@b.example, c@d.example',
      'a@b.example\r\nBcc: e@f.example',
      `${'x'.repeat(320)}@b.example`,
    ])
      expect(codeOf(await fixture.control(root, SENDER, { sender })), sender).to.equal('BAD_USER_INPUT');
    const browser = new ConsoleBrowser(fixture);
    await browser.signIn('shop', 'root', PASSWORD);
    const csrf = await browser.csrf('/console/brand');
    const save = (sender: string): Promise<Response> =>
      browser.post('/console/brand', { csrf, action: 'sender', sender });
    const refused = await save('nobody');
    expect([refused.status, await refused.text()].join(' ')).to.match(/^400 [\s\S]*must be one address/);
    expect((await save('')).status).to.equal(303);
    expect(await new ConsoleBrowser(fixture).page('/console/sign-in?tenant=shop')).not.to.include(FORGOTTEN);
    // Of another tenant, which never has a sender: who asks is looked up after the response.
    const { tenantid } = await fixture.createTenant('senderless', 'create table note (id int primary key)');
    const login = 'nobody@example.com';
    const made = await fixture.control(
      (await fixture.signIn(tenantid)).access_token,
      `mutation { create_role(input: { login: "${login}", password: "${PASSWORD}", capabilities: ["login"] }) { roleid } }`,
    );
    expect(made.errors).to.equal(undefined);
    expect((await request(login, { tenant: 'senderless' })).status).to.equal(303);
    expect((await save('New <new@shop.example>')).status).to.equal(303);
    const other = await colleague();
    await linkTo(other.login);
    expect((await emailsTo(other.login))[0]?.sender).to.equal('New <new@shop.example>');
    expect(await emailsTo(login)).to.deep.equal([]);
    expect(
      at(await fixture.control(root, '{ Utility { password_sender } }'), 'data.Utility.password_sender'),
    ).to.equal('New <new@shop.example>');
  });

  it('are sent by the carriers of the tenant, after the response, which waits for nothing', async () => {
    const api = await startFakeApi();
    const web = await WebFixture.start({
      env: { MAIL_TRANSPORT: 'sendgrid', SENDGRID_BASE_URL: api.url, SIGN_INS_PER_ADDRESS: '0' },
    });
    try {
      const shop = await web.createTenant('shop');
      const own = (await web.signIn(shop.tenantid)).access_token;
      await web.control(own, SENDER, { sender: 'accounts@shop.example' });
      for (const login of ['eve@example.com', 'mia@example.com'])
        await web.control(own, 'mutation ($input: roleInput) { create_role(input: $input) { roleid } }', {
          input: { login, password: PASSWORD, capabilities: ['login'] },
        });
      const ask = (login: string): Promise<Response> =>
        new ConsoleBrowser(web).post(FORGOTTEN, { tenant: 'shop', login });
      const page = (): Promise<string> => new ConsoleBrowser(web).page('/console/sign-in?tenant=shop');
      expect(await page(), 'without a carrier').not.to.include(FORGOTTEN);
      await ask('eve@example.com');
      await web.control(own, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
      expect(await page()).to.include(FORGOTTEN);
      const sends = (): readonly string[] =>
        api.calls.filter(({ path }) => path.endsWith('/mail/send')).map(({ body }) => body.toString());
      api.reply = () => 'hang';
      const startedAtMs = performance.now();
      expect((await ask('mia@example.com')).status).to.equal(303);
      await waitFor('the call of the carrier', () => sends().length === 1);
      expect(performance.now() - startedAtMs).to.be.below(5_000);
      expect(sends()[0]).to.include('mia@example.com').and.include('/console/sign-in/reset/');
      api.reply = () => ({ status: 401, body: { errors: [{ message: 'no' }] } });
      await ask('eve@example.com');
      await waitFor('emails about passwords', async () => {
        const events = await web.control(
          own,
          `{ sign_in_event(filter: "kind = 'password_email' and reason != null") { reason } }`,
        );
        return (at(events, 'data.sign_in_event') as readonly unknown[]).length > 0;
      });
    } finally {
      await api.stop();
      await web.stop();
    }
  });

  it('are sent also while the carriers of eight other tenants do not respond', async () => {
    const api = await startFakeApi();
    const web = await WebFixture.start({
      env: {
        MAIL_TRANSPORT: 'sendgrid',
        SENDGRID_BASE_URL: api.url,
        SIGN_INS_PER_ADDRESS: '0',
        SEND_DEADLINE_MS: '15000',
      },
    });
    try {
      const open = async (name: string): Promise<void> => {
        const own = (await web.signIn((await web.createTenant(name)).tenantid)).access_token;
        await web.control(own, SENDER, { sender: `accounts@${name}.example` });
        await web.control(own, `mutation { set_email_apikey(apikey: "SG.${name}") { apikey } }`);
        for (const who of ['a', 'b', 'c'])
          await web.control(own, 'mutation ($input: roleInput) { create_role(input: $input) { roleid } }', {
            input: { login: `${who}@${name}.example`, password: PASSWORD, capabilities: ['login'] },
          });
      };
      const ask = (tenant: string, who: string): Promise<Response> =>
        new ConsoleBrowser(web).post(FORGOTTEN, { tenant, login: `${who}@${tenant}.example` });
      const sent = (tenant: string): number =>
        api.calls.filter(
          ({ path, headers }) =>
            path.endsWith('/mail/send') && headers.authorization === `Bearer SG.${tenant}`,
        ).length;
      api.reply = ({ headers }) => (headers.authorization === 'Bearer SG.shop' ? { status: 202 } : 'hang');
      const others = Array.from({ length: 8 }, (_, index) => `other${index}`);
      for (const tenant of [...others, 'shop']) await open(tenant);
      for (const who of ['a', 'b', 'c']) for (const tenant of others) await ask(tenant, who);
      await waitFor('calls of carriers', () => others.every((tenant) => sent(tenant) > 0), {
        timeoutMs: 5_000,
      });
      await ask('shop', 'a');
      await waitFor('the email of the shop', () => sent('shop') === 1, { timeoutMs: 5_000 });
      expect(new Set(others.map(sent))).to.deep.equal(new Set([2]));
    } finally {
      await api.stop();
      await web.stop();
    }
  });
});
