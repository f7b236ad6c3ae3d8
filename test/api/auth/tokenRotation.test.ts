import { expect } from 'chai';
import { decodeProtectedHeader } from 'jose';
import { rotateSigningKey } from '../../../src/api/auth/signingKeys.js';
import { KeyRing } from '../../../src/config/secrets.js';
import { runRowpost } from '../../support/rowpostProcess.js';
import { TEST_SECRET_KEYS } from '../../support/testConfig.js';
import { WebFixture } from '../webFixture.js';
import { knexOf } from '../../support/knexOf.js';

const WEEK_SECONDS = 7 * 86_400;

describe('rotation of the token signing key', () => {
  let fixture: WebFixture;
  let tenantid: number;
  // The server looks for a new key once a minute.
  let passedMs = 0;

  beforeEach(async () => {
    passedMs = 0;
    fixture = await WebFixture.start({ clock: { now: () => Date.now() + passedMs } });
    tenantid = (await fixture.createTenant('shop')).tenantid;
  });
  afterEach(() => fixture.stop());

  const kids = async (): Promise<string[]> =>
    knexOf(fixture.testDatabase.database)('rowpost.signing_key').orderBy('createtime').pluck('kid');

  it('keeps sessions alive and signs new tokens with the new key', async () => {
    const before = await fixture.signIn(tenantid);
    const { pool } = fixture.testDatabase.database;
    const { kid, deleted } = await rotateSigningKey(pool, KeyRing.parse(TEST_SECRET_KEYS), WEEK_SECONDS);
    expect(deleted).to.deep.equal([]);
    passedMs = 61_000;
    const after = await fixture.signIn(tenantid);
    expect(decodeProtectedHeader(after.access_token).kid).to.equal(kid);
    expect(decodeProtectedHeader(before.access_token).kid).not.to.equal(kid);
    for (const { access_token } of [before, after]) {
      expect((await fixture.control(access_token, '{ role { login } }')).errors).to.equal(undefined);
    }
    const refreshed = await fixture.fetch('/auth', {
      headers: { authorization: `Bearer ${before.refresh_token}` },
    });
    expect(refreshed.status).to.equal(200);
  });

  it('deletes a key once every token it signed has expired', async () => {
    const { pool } = fixture.testDatabase.database;
    const knex = knexOf(fixture.testDatabase.database);
    const [first] = await kids();
    const rotate = (): ReturnType<typeof rotateSigningKey> =>
      rotateSigningKey(pool, KeyRing.parse(TEST_SECRET_KEYS), WEEK_SECONDS);
    const { kid: second } = await rotate();
    await knex('rowpost.signing_key').update({ createtime: knex.raw("createtime - interval '7 days'") });
    expect((await rotate()).deleted).to.deep.equal([]);
    await knex('rowpost.signing_key').update({ createtime: knex.raw("createtime - interval '2 hours'") });
    expect((await rotate()).deleted).to.deep.equal([first]);
    expect(await kids()).to.include(second);
  });

  it('is available as a command', async () => {
    const before = await kids();
    const { code, stdout } = await runRowpost(['token', 'rotate'], {
      DATABASE_URL: fixture.testDatabase.url,
    });
    expect(code).to.equal(0);
    const { kid } = JSON.parse(stdout) as { kid: string };
    expect(await kids()).to.deep.equal([...before, kid]);
    expect((await runRowpost(['token'], { DATABASE_URL: fixture.testDatabase.url })).code).to.equal(1);
  });
});
