import { expect } from 'chai';
import { loadConfig } from '../../../src/process/loadConfig.js';
import { ensureInstallation } from '../../../src/control/tenants/installation.js';
import { hashPassword } from '../../../src/control/roles/passwords.js';
import { createTenant } from '../../../src/control/tenants/tenants.js';
import { AppError } from '../../../src/foundation/errors.js';
import { passwordWeakness } from '../../../src/foundation/passwordRules.js';
import { PXADMIN_PASSWORD, WebFixture, type Json } from '../../api/webFixture.js';
import { runRowpost } from '../../support/rowpostProcess.js';
import { testEnv } from '../../support/testConfig.js';
import { createTestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';
import { knexOf } from '../../support/knexOf.js';

const WEAK = [
  'x',
  '1234567',
  'password',
  'Password1!',
  '12345678',
  'aaaaaaaa',
  'letmein1',
  'x'.repeat(1_025),
];
const STRONG = [
  'correct horse',
  'Ünïcödé!',
  'a password for pxadmin',
  '漢字漢字仮名交じ',
  'ab1-'.repeat(256),
];

describe('attack: weak passwords', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let rootRoleid: number;
  let root: string;
  let pxadmin: string;
  before(async () => {
    fixture = await WebFixture.start();
    ({ tenantid, rootRoleid } = await fixture.createTenant('Lighthouse'));
    root = (await fixture.signIn(tenantid)).access_token;
    pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
  });
  after(() => fixture.stop());

  const codeOf = async (token: string, mutation: string, input: Json): Promise<unknown> => {
    const [type, field] = mutation.startsWith('create_tenant') ? ['tenant', 'name'] : ['role', 'login'];
    const query = `mutation ($input: ${type}Input) { ${mutation} { ${field} } }`;
    return (await fixture.control(token, query, { input })).errors?.[0]?.extensions.code;
  };

  it('are recognized', () => {
    for (const password of WEAK) expect(passwordWeakness(password), password).to.be.a('string');
    for (const password of STRONG) expect(passwordWeakness(password), password).to.equal(undefined);
    for (const password of ['lighthouse', 'Lighthouse22', '..LIGHTHOUSE..']) {
      expect(passwordWeakness(password, [null, 'Lighthouse']), password).to.match(/login|tenant/);
    }
  });

  it('are refused wherever a password is set', async () => {
    for (const password of [...WEAK, 'Lighthouse1', 'ada.lovelace']) {
      const role = { login: 'ada.lovelace', password };
      expect(await codeOf(root, 'create_role(input: $input)', role), password).to.equal('PASSWORD_TOO_WEAK');
      const update = `update_role(roleid: ${rootRoleid}, input: $input)`;
      expect(await codeOf(root, update, role), password).to.equal('PASSWORD_TOO_WEAK');
      const tenant = { name: 'Lighthouse', root_login: 'ada.lovelace', root_password: password };
      expect(await codeOf(pxadmin, 'create_tenant(input: $input)', tenant), password).to.equal(
        'PASSWORD_TOO_WEAK',
      );
    }
  });

  it('are refused by the commands, and for pxadmin at the first start', async () => {
    const { url, database } = await createTestDatabase();
    for (const work of [
      () => ensureInstallation(database.pool, 'short'),
      () => ensureInstallation(database.pool, 'pxadmin1'),
      () => createTenant(database.pool, { name: 'a', rootLogin: 'root', rootPassword: 'secret' }),
    ]) {
      const error: unknown = await work().catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(AppError).and.to.include({ code: 'PASSWORD_TOO_WEAK' });
    }
    const env = { NODE_ENV: 'production', DATABASE_URL: url, PXADMIN_PASSWORD: 'short' };
    expect(() => loadConfig({ ...testEnv(), ...env })).to.throw(/PXADMIN_PASSWORD has fewer than 8/);
    expect(() => loadConfig({ ...testEnv(), ...env, PXADMIN_PASSWORD: 'a long and good one' }))
      .to.throw()
      .with.property('message')
      .not.match(/PXADMIN_PASSWORD/);
  });

  it('are hashed at full cost by default', async () => {
    expect(await hashPassword('x')).to.match(/^scrypt\$15\$8\$1\$/);
  });

  it('set earlier still sign in', async () => {
    const knex = knexOf(fixture.testDatabase.database);
    const password_hash = await hashPassword('x');
    await knex('rowpost.role').insert({ tenantid, login: 'old', password_hash, capabilities: ['login'] });
    expect((await fixture.signIn(tenantid, 'old', 'x')).tenantid).to.equal(tenantid);
  });

  it("are replaced by `rowpost password`, which revokes the role's tokens; pxadmin's too", async () => {
    const reset = async (
      args: readonly string[],
      stdin: string,
    ): Promise<{ code: number | null; said: string }> => {
      const env = { DATABASE_URL: fixture.testDatabase.url };
      const { code, stdout, stderr } = await runRowpost(['password', ...args], env, stdin);
      return { code, said: stdout + stderr };
    };
    const pxadminArgs = ['--tenant', '0', '--login', 'pxadmin'];
    expect(await reset(pxadminArgs, 'short\n')).to.include({ code: 1 });
    expect(await reset(pxadminArgs, '')).to.include({ code: 1 });
    expect(await reset(['--tenant', '0', '--login', 'nobody here'], 'a new word of mine\n')).to.include({
      code: 1,
    });
    const done = await reset(pxadminArgs, 'a new word of mine\n');
    expect(done.code, done.said).to.equal(0);
    await fixture.signIn(0, 'pxadmin', 'a new word of mine');
    const withOld = await fixture.postJson('/auth', {
      tenantid: 0,
      login: 'pxadmin',
      password: PXADMIN_PASSWORD,
    });
    expect(withOld.status).to.equal(401);
    await waitFor('the end of the token', async () => {
      const response = await fixture.control(pxadmin, '{ tenant { name } }');
      return (response as Json)['code'] === 'TOKEN_REVOKED';
    });
  });
});
