import { expect } from 'chai';
import { codeOf, WebFixture } from '../api/webFixture.js';
import { ConsoleBrowser } from '../api/consoleBrowser.js';

const PER_MINUTE = 10;
const PASSWORD = 'secret of the clerk';

/** A change of one's login to a taken one is refused: 99 of them in a request told who has an account. */
describe('attack: a signed-in role finds out which logins are taken', () => {
  let fixture: WebFixture;
  let root: string;
  let tenantid: number;

  before(async () => {
    fixture = await WebFixture.start({ env: { ANONYMOUS_ROLES_PER_ADDRESS: String(PER_MINUTE) } });
    ({ tenantid } = await fixture.createTenant('shop'));
    root = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  const renaming = (roleid: number, count: number): string =>
    `mutation ($login: String) { ${Array.from(
      { length: count },
      (_, index) => `a${index}: update_role(roleid: ${roleid}, input: {login: $login}) { roleid }`,
    ).join(' ')} }`;

  it('not by many in a request: each of its aliases counts', async () => {
    const { roleid, token } = await fixture.createMember(root, 'many', ['login']);
    const many = await fixture.control(token, renaming(roleid, 99), { login: 'root2' });
    expect(codeOf(many)).to.equal('RATE_LIMITED');
  });

  it('nor by many requests, with other roles from the same address, or with forms of the console', async () => {
    const made = await fixture.control(
      root,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      { input: { login: 'clerk', password: PASSWORD, capabilities: ['login', 'update_role'] } },
    );
    expect(made.errors).to.equal(undefined);
    const codes: (string | undefined)[] = [];
    for (let index = 0; index < 2 * PER_MINUTE; index++) {
      const { roleid, token } = await fixture.createMember(root, `some${index}`, ['login']);
      codes.push(codeOf(await fixture.control(token, renaming(roleid, 1), { login: 'root' })));
    }
    const answered = codes.filter((code) => code !== 'RATE_LIMITED');
    expect(answered.length).to.be.at.most(PER_MINUTE);
    expect(codes.at(-1)).to.equal('RATE_LIMITED');
    const browser = new ConsoleBrowser(fixture);
    await browser.signIn(String(tenantid), 'clerk', PASSWORD);
    const { roleid } = await fixture.signIn(tenantid, 'clerk', PASSWORD);
    const csrf = await browser.csrf('/console/roles');
    const form = { csrf, id: String(roleid), login: 'root', name: '' };
    const response = await browser.post(`/console/roles/edit?id=${roleid}`, form);
    expect(await response.text())
      .to.include('Too many logins were tried')
      .and.not.include('has the login');
  });

  it('while admins rename as many as they like', async () => {
    const { roleid } = await fixture.createMember(root, 'renamed', ['login']);
    const { errors } = await fixture.control(root, renaming(roleid, 50), { login: 'renamed again' });
    expect(errors).to.equal(undefined);
  });
});
