import { expect } from 'chai';
import { ConsoleBrowser } from './consoleBrowser.js';
import { startMisbehaving, type MisbehavingFixture } from './oidc/support/misbehavingFixture.js';
import { ROOT_LOGIN, ROOT_PASSWORD } from './webFixture.js';

describe('the console: sign-ins', () => {
  let started: MisbehavingFixture;
  let browser: ConsoleBrowser;
  let ids: Readonly<Record<'ada' | 'grace', number>>;

  before(async () => {
    started = await startMisbehaving();
    const { fixture, confid, roleid } = started;
    const { web, tenant } = fixture;
    const { pool } = web.testDatabase.database;
    const member = async (login: string, maker = fixture.root): Promise<number> =>
      (await web.createMember(maker, login, ['login', 'select'])).roleid;
    ids = { ada: await member('ada'), grace: await member('grace <b>') };
    await pool.query('delete from rowpost.sign_in_event');
    await pool.query(
      `insert into rowpost.sign_in_event (tenantid, slot, time, last_time, count, kind, roleid, confid, provider, reason, address, actorid)
       select $1, time, time, time + interval '1 minute', count, kind, roleid, confid, provider, reason, '198.51.100.7', actorid
       from (values
         ('2026-01-31T23:59:59Z'::timestamptz, 1, 'signed_in', $2::int, $4::int, 'login.example', null, null),
         ('2026-02-01T00:00:00Z', 12, 'refused', $2, null, null, 'LOGIN_FAILED', null),
         ('2026-02-01T23:59:59Z', 1, 'signed_out', $3, null, null, 'all', $2),
         ('2026-02-02T00:00:00Z', 1, 'refused', null, $4, 'login.example', 'OIDC_NOT_ADMITTED', null)
       ) e(time, count, kind, roleid, confid, provider, reason, actorid)`,
      [tenant.tenantid, ids.ada, ids.grace, confid],
    );
    await pool.query(
      `insert into rowpost.sign_in_event (tenantid, slot, time, kind, roleid)
       select $1, t, t, 'signed_in', $2 from generate_series(0, 119) n, lateral (select timestamptz '2025-06-01Z' + n * interval '1 hour') x(t)`,
      [tenant.tenantid, roleid],
    );
    browser = new ConsoleBrowser(web);
    await browser.signIn('shop', ROOT_LOGIN, ROOT_PASSWORD);
    await pool.query('delete from rowpost.sign_in_event where time > $1', [new Date(Date.now() - 3_600_000)]);
  });
  after(() => started.stop());

  /** The entries of the page, as texts. */
  const entries = async (search: Readonly<Record<string, string>>, by = browser): Promise<string[]> => {
    const html = await by.page(`/console/sign-ins?${new URLSearchParams(search).toString()}`);
    return [...html.matchAll(/<li class="sheet">([^]*?)<\/li>/g)].map(([, item = '']) =>
      item
        .replace(/<[^>]*>/g, '')
        .replace(/\s+/g, ' ')
        .trim(),
    );
  };

  it('are listed, the newest first, with who, what and why', async () => {
    const [first, second, third, fourth] = await entries({});
    expect(first).to.match(/^A login that is no role Refused .*OIDC_NOT_ADMITTED .*through login.example/);
    expect(second).to.match(
      /^grace &lt;b&gt; Signed out All sessions were ended by ada\. 2026-02-01 23:59:59/,
    );
    expect(third).to.match(
      /^ada Refused, 12 times .*LOGIN_FAILED 2026-02-01 00:00:00 UTC to .*from 198\.51\.100\.7$/,
    );
    expect(fourth).to.match(/^ada Signed in 2026-01-31 23:59:59 UTC .*through login.example/);
  });

  it('are found by who, what, provider and day, and any of these together', async () => {
    const kinds = async (search: Readonly<Record<string, string>>): Promise<string> =>
      (await entries(search)).map((text) => text.slice(0, 14)).join('|');
    const day = '2026-02-01';
    const confid = String(started.confid);
    expect(await entries({ who: 'ADA' })).to.have.length(2);
    expect(await entries({ who: String(ids.ada) })).to.have.length(2);
    expect(await entries({ who: 'nobody%' })).to.have.length(0);
    expect(await entries({ who: '%' })).to.have.length(0);
    expect(await entries({ kind: 'refused' })).to.have.length(2);
    expect(await entries({ provider: confid })).to.have.length(2);
    expect(await kinds({ day })).to.match(/^grace .*\|ada Refused/);
    expect(await kinds({ day, provider: 'password', kind: 'refused' })).to.match(/^ada Refused, 12?$/);
    expect(await entries({ day, who: 'ada', provider: confid })).to.have.length(0);
  });

  it('are paged, and the other pages keep the search', async () => {
    const who = String(started.roleid);
    const path = `/console/sign-ins?who=${who}`;
    const html = await browser.page(path);
    expect(await entries({ who })).to.have.length(50);
    const next = /rel="next" href="([^"]+)"/.exec(html)![1]!.replaceAll('&amp;', '&');
    expect(next).to.include(`who=${who}`);
    const last = await browser.page(next.replace('from=50', 'from=100'));
    expect(last.match(/<li class="sheet">/g)).to.have.length(20);
    expect(last).to.not.include('rel="next"');
  });

  it('say what is wrong with a search', async () => {
    for (const search of ['day=yesterday', 'day=2026-02-31x', 'provider=%27', "provider=1'"]) {
      const response = await browser.get(`/console/sign-ins?${search}`);
      expect(response.status, search).to.equal(400);
    }
    expect(await entries({ kind: "x' or kind = 'refused" })).to.have.length(0);
  });

  it("are a role's own, and linked from its page and its sessions", async () => {
    const member = new ConsoleBrowser(started.fixture.web);
    const { web, root } = started.fixture;
    await web.control(
      root,
      'mutation ($roleid: ID!) { update_role(roleid: $roleid, input: { password: "a secret of mine" }) { roleid } }',
      { roleid: ids.ada },
    );
    await member.signIn('shop', 'ada', 'a secret of mine');
    const seen = await entries({}, member);
    expect(seen).to.have.length(3);
    for (const text of seen) expect(text).to.match(/^ada /);
    expect(await entries({ who: String(ids.grace) }, member)).to.have.length(0);
    for (const page of [`/console/roles/edit?id=${ids.ada}`, `/console/sessions?roleid=${ids.ada}`])
      expect(await browser.page(page), page).to.include(`/console/sign-ins?who=${ids.ada}"`);
  });
});
