import { expect } from 'chai';
import { ConsoleBrowser } from '../consoleBrowser.js';
import { at, PXADMIN_PASSWORD, ROOT_LOGIN, ROOT_PASSWORD, type Json } from '../webFixture.js';
import { startMisbehaving, type MisbehavingFixture } from './support/misbehavingFixture.js';

const PAGE = '/console/identity-providers';
const EVIL = `"><script>alert('x')</script>{{ 7 | times: 7 }}`;

describe('single sign-on set up in the console', () => {
  let started: MisbehavingFixture;
  let pxadmin: ConsoleBrowser;
  let root: ConsoleBrowser;

  before(async () => {
    started = await startMisbehaving({ env: { SIGN_INS_PER_ADDRESS: '0' } });
    const { web } = started.fixture;
    [pxadmin, root] = [new ConsoleBrowser(web), new ConsoleBrowser(web)];
    await pxadmin.signIn('0', 'pxadmin', PXADMIN_PASSWORD);
    await root.signIn('shop', ROOT_LOGIN, ROOT_PASSWORD);
  });
  after(() => started.stop());

  /** Sends a form as a browser does. @returns the page that it leads to */
  async function send(
    by: ConsoleBrowser,
    path: string,
    values: Readonly<Record<string, string>>,
  ): Promise<string> {
    const response = await by.post(PAGE + path, { ...values, csrf: await by.csrf(PAGE) });
    return response.status === 303 ? by.page(response.headers.get('location') ?? '') : response.text();
  }
  const provider = (name: string): Record<string, string> => {
    const { issuer, endpoints } = started.provider;
    const { auth_uri = '', token_uri = '', jwks_uri = '' } = endpoints as Record<string, string>;
    return { name, issuer, auth_uri, token_uri, jwks_uri };
  };
  async function register(name: string): Promise<string> {
    await send(pxadmin, '/provider', provider(name));
    const id = new RegExp(`<option value="(\\d+)">${name}</option>`).exec(await root.page(PAGE))?.[1] ?? '';
    const page = await send(root, '/registration', {
      providerid: id,
      client_id: name,
      secret: 'a secret',
    });
    return /name="confid" value="(\d+)"/.exec(page)![1]!;
  }
  const people = {
    isPeople: 'yes',
    capabilities: 'login, select',
    name: '{{ claims.name }}',
    login: '{{ claims.email }}',
  };
  async function claimed(confid: string, claims: Json): Promise<Json> {
    const tried = await started.fixture.web.control(
      started.fixture.root,
      `query ($confid: Int!, $claims: String!) { Utility { try_oidc_claims(confid: $confid, claims: $claims) {
        role { parentid capabilities classes } refusal { code } } } }`,
      { confid: Number(confid), claims: JSON.stringify(claims) },
    );
    return at(tried, 'data.Utility.try_oidc_claims') as Json;
  }

  it('lets a company in, in the classes of its groups, by forms alone', async () => {
    const confid = await register('Analytical Engines');
    const shown = await send(root, '/people', {
      ...people,
      confid,
      isNew: 'yes',
      email_domains: 'example.com, example.org',
      groups_claim: 'groups',
      parent_name: 'People from there',
    });
    expect(shown)
      .to.include('Saved.')
      .and.include('value="example.com, example.org"')
      .and.match(/<option value="\d+" selected>People from there \(\d+\)<\/option>/);
    expect(await send(root, '/groups', { confid, action: 'add', group_name: 'staff' }))
      .to.include('<code>staff</code> is class <strong>staff</strong>')
      .and.not.include('which nobody gets');
    await send(root, '/groups', { confid, action: 'add', group_name: 'heads', class_name: 'staff' });
    const person = { sub: 'a', email: 'ada@example.com', email_verified: true };
    for (const [groups, classes] of [
      [[], 0],
      [['staff'], 1],
      [['staff', 'heads'], 1],
    ] as const) {
      const { role } = (await claimed(confid, { ...person, groups })) as { role: { classes: number[] } };
      expect(role.classes, String(groups)).to.have.length(classes);
    }
    expect(await claimed(confid, { ...person, email: 'eve@example.net', groups: ['staff'] })).to.deep.include(
      {
        role: null,
        refusal: { code: 'OIDC_NOT_ADMITTED' },
      },
    );

    // The parent that is shown is the one that is kept.
    const page = await root.page(`${PAGE}?confid=${confid}`);
    const parentid = /<option value="(\d+)" selected>People/.exec(page)![1]!;
    await send(root, '/people', { ...people, confid, parentid, email_domains: '' });
    expect(await claimed(confid, { ...person, email: 'eve@example.net' })).to.deep.include({ refusal: null });
    const classid = /name="classid" value="(\d+)"/.exec(page)![1]!;
    const left = await send(root, '/groups', { confid, action: 'remove', group_name: 'staff', classid });
    expect(left).to.include('<code>heads</code>').and.not.include('<code>staff</code>');
    expect(await send(root, '/people', { confid, action: 'delete' })).to.include('make no roles');
  });

  it('says of a group that nobody gets its class', async () => {
    const { fixture } = started;
    const confid = await register('Elsewhere');
    await send(root, '/people', { ...people, confid, isNew: 'yes', parent_name: 'Elsewhere' });
    await fixture.web.control(
      fixture.root,
      `mutation { create_role_class(input: { name: "apart" }) { classid } }`,
    );
    const made = await fixture.web.control(
      fixture.root,
      '{ role_class(filter: "name = \'apart\'") { classid } }',
    );
    const { classid } = (at(made, 'data.role_class') as { classid: number }[])[0]!;
    await fixture.web.control(
      fixture.root,
      'mutation ($input: oidc_group_classInput) { create_oidc_group_class(input: $input) { classid } }',
      { input: { confid: Number(confid), group_name: 'apart', classid } },
    );
    expect(await root.page(`${PAGE}?confid=${confid}`)).to.include('which nobody gets');
  });

  it('says what is wrong in the words of the form, keeps what was entered, and never a secret', async () => {
    const taken = await send(pxadmin, '/provider', { ...provider('Elsewhere'), issuer: EVIL });
    expect(taken)
      .to.include('There is already an identity provider with this name.')
      .and.include('value="Elsewhere"');
    expect(taken).not.to.match(/<script>alert|&gt;49/);
    const id = /<option value="(\d+)">Elsewhere<\/option>/.exec(await root.page(PAGE))![1]!;
    const html = await send(root, '/registration', { providerid: id, client_id: EVIL, secret: '' });
    expect(html)
      .to.include('Enter the secret that the provider shows for it.')
      .and.not.match(/<script>alert|&gt;49/);
    const failed = await send(root, '/registration', {
      providerid: id,
      client_id: '',
      secret: 'top secret',
    });
    expect(failed)
      .to.include('Enter what the provider calls this application.')
      .and.not.include('top secret');
  });

  it('shows the redirect URI of this installation before there is a registration', async () => {
    expect(await root.page(PAGE)).to.include(`<code>${started.fixture.redirectUri}</code>`);
  });

  it('says in the form that an issuer is not responding, and that the role above lacks a capability', async () => {
    const absent = await send(pxadmin, '/provider', { name: 'absent', issuer: 'http://127.0.0.1:1' });
    expect(absent).to.include('can&#39;t be reached').and.include('value="http://127.0.0.1:1"');
    const confid = await register('Narrow');
    const made = await send(root, '/people', { ...people, confid, isNew: 'yes', parent_name: 'Few' });
    expect(made).to.include('Support: <code>login, view_delivery, repair_delivery</code>');
    const parentid = /<option value="(\d+)" selected>Few/.exec(made)![1]!;
    const lacking = { ...people, confid, parentid, capabilities: 'login, view_delivery' };
    expect(await send(root, '/people', lacking))
      .to.include(`<a href="#capabilities">They may</a>: Role ${parentid} does not have`)
      .and.include('Give it to that role first')
      .and.include('value="login, view_delivery"')
      .and.not.include('Ask an administrator');
  });

  it('leaves no role behind if who may sign in can’t be saved', async () => {
    const confid = await register('Wrong');
    const values = { ...people, confid, isNew: 'yes', parent_name: 'Wrong', email_domains: 'example.com' };
    const html = await send(root, '/people', { ...values, required_claim: 'tid' });
    expect(html)
      .to.include('required_claim and required_value go together.')
      .and.include('value="example.com"');
    const { web, root: token } = started.fixture;
    const left = await web.control(
      token,
      `{ role(filter: "name = 'Wrong' and deleted = false") { roleid } }`,
    );
    expect(at(left, 'data.role')).to.deep.equal([]);
    expect(await send(root, '/people', values)).to.include('Saved.');
  });

  it('is for root and pxadmin, each by their own forms', async () => {
    const { web, root: token } = started.fixture;
    await web.control(
      token,
      `mutation { create_role(input: { login: "head", password: "${ROOT_PASSWORD}", capabilities: ["login", "admin"] }) { roleid } }`,
    );
    const admin = new ConsoleBrowser(web);
    await admin.signIn('shop', 'head', ROOT_PASSWORD);
    const confid = await register('Third');
    expect(await admin.page(`${PAGE}?confid=${confid}`))
      .to.include('Check it now')
      .and.not.include('/people');
    for (const [path, values] of [
      ['/people', { ...people, confid, isNew: 'yes', parent_name: 'x' }],
      ['/groups', { confid, action: 'add', group_name: 'x' }],
      ['/registration', { providerid: '1001', client_id: 'x', secret: 'x' }],
      ['/provider', provider('x')],
    ] as const) {
      for (const by of [admin, ...(path === '/provider' ? [root] : [])]) {
        const response = await by.post(PAGE + path, { ...values, csrf: await by.csrf(PAGE) });
        expect(response.status, path).to.equal(403);
      }
      expect((await root.post(PAGE + path, { ...values, csrf: 'other' })).status, path).to.be.above(399);
    }
    const made = await web.control(
      token,
      '{ role_class(filter: "name = \'x\'") { classid } role(filter: "name = \'x\'") { roleid } }',
    );
    expect(at(made, 'data')).to.deep.equal({ role_class: [], role: [] });
  });
});
