import { expect } from 'chai';
import { ensureAnonymousRole } from '../../../src/control/roles/anonymousRole.js';
import { codeOf, WebFixture } from '../../api/webFixture.js';
import { cpuTimer } from '../../support/cpuTime.js';
import { knexOf } from '../../support/knexOf.js';

const PASSWORDS = 10;

/** Passwords were hashed before anyone asked who sends them, in one of the two places for a tenant's changes. */
describe('attack: passwords that the sender may not set', () => {
  let fixture: WebFixture;
  let root: string;
  let nobody: string;
  let plain: string;
  let roleid: number;

  before(async () => {
    fixture = await WebFixture.start({ env: { SIGN_INS_PER_ADDRESS: '0' } });
    const { pool } = fixture.testDatabase.database;
    const knex = knexOf(fixture.testDatabase.database);
    const { tenantid } = await fixture.createTenant('shop', '');
    root = (await fixture.signIn(tenantid)).access_token;
    await knex('rowpost.tenant').where({ tenantid }).update({ anonymous_logins: true });
    await ensureAnonymousRole(pool, tenantid);
    await fixture.control(
      root,
      'mutation { create_role(input: { login: "ada", password: "kr3Rr9fd2pQ" }) { roleid } }',
    );
    const post = async (path: string, body: object): Promise<{ access_token: string; roleid: number }> => {
      const headers = { 'content-type': 'application/json' };
      const response = await fixture.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as { access_token: string; roleid: number };
    };
    nobody = (await post('/anonauth', { tenantid })).access_token;
    const ada = await post('/auth', { tenantid, login: 'ada', password: 'kr3Rr9fd2pQ' });
    plain = ada.access_token;
    roleid = ada.roleid;
  });
  after(() => fixture.stop());

  const setting = (ofRole: number, count: number): string =>
    `mutation { ${Array.from(
      { length: count },
      (_, n) => `a${n}: update_role(roleid: ${ofRole}, input: { password: "9dj3kd93jd${n}" }) { roleid }`,
    ).join(' ')} }`;

  it('are not hashed for anonymous clients, nor more than one for a role that may set no other', async () => {
    const cpuMs = cpuTimer();
    expect(codeOf(await fixture.control(nobody, setting(1, PASSWORDS)))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await fixture.control(plain, setting(roleid, PASSWORDS)))).to.equal('DOCUMENT_TOO_COMPLEX');
    expect(cpuMs()).to.be.below(400);
    expect(codeOf(await fixture.control(plain, setting(roleid, 1)))).to.equal(undefined);
  });

  it("do not keep a tenant's changes out while they are hashed", async () => {
    const codes: (string | undefined)[] = [];
    const flood = Promise.all(Array.from({ length: 24 }, () => fixture.control(root, setting(1, PASSWORDS))));
    for (let n = 0; n < 3; n++) {
      const change = `mutation { create_role_class(input: { name: "c${n}" }) { classid } }`;
      codes.push(codeOf(await fixture.control(root, change)));
    }
    await flood;
    expect(codes).to.deep.equal([undefined, undefined, undefined]);
  });
});
