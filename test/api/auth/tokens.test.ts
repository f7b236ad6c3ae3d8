import { expect } from 'chai';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { insertSigningKey } from '../../../src/db/roles/signIn/signingKeys.js';
import { KeyRing } from '../../../src/config/secrets.js';
import { TEST_SECRET_KEYS } from '../../support/testConfig.js';
import { textAt, WebFixture, type AuthBody, type Json } from '../webFixture.js';
import { knexOf } from '../../support/knexOf.js';

/** A clock that tests move. */
class MovingClock {
  offsetMs = 0;
  now(): number {
    return Date.now() + this.offsetMs;
  }
}

describe('tokens', () => {
  const clock = new MovingClock();
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: AuthBody;

  before(async () => {
    fixture = await WebFixture.start({ clock });
    tenant = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    root = await fixture.signIn(tenant.tenantid);
  });
  after(() => fixture.stop());
  afterEach(() => {
    clock.offsetMs = 0;
  });

  /** Status and body of a query with the given Authorization header. */
  async function query(authorization?: string): Promise<[number, string]> {
    const headers = authorization === undefined ? {} : { authorization };
    const response = await fixture.postJson('/query', { query: '{ __typename }' }, headers);
    return [response.status, await response.text()];
  }
  async function codeOf(authorization?: string): Promise<[number, string]> {
    const [status, body] = await query(authorization);
    return [status, (JSON.parse(body) as Json)['code'] as string];
  }

  it('carry the documented claims, with sub as an object', () => {
    const claims = decodeJwt<Json>(root.access_token);
    const { roleid, tenantid } = root;
    expect(claims).to.have.all.keys('iat', 'nbf', 'exp', 'jti', 'type', 'fresh', 'sub', 'roleid', 'tenantid');
    expect(claims).to.deep.include({
      type: 'access',
      fresh: false,
      sub: { roleid, tenantid },
      roleid,
      tenantid,
    });
    expect(Number(claims['exp']) - Number(claims['iat'])).to.equal(86_400);
    const refresh = decodeJwt<Json>(root.refresh_token);
    expect(refresh['type']).to.equal('refresh');
    expect(Number(refresh['exp']) - Number(refresh['iat'])).to.equal(604_800);
    expect(refresh['jti']).to.not.equal(claims['jti']);
    expect(decodeProtectedHeader(root.access_token)).to.have.property('kid');
    expect(decodeProtectedHeader(root.access_token).alg).to.equal('ES256');
  });

  it('are missing: 401', async () => {
    expect(await codeOf()).to.deep.equal([401, 'TOKEN_MISSING']);
    expect(await codeOf('Basic cm9vdDpyb290')).to.deep.equal([401, 'TOKEN_MISSING']);
  });

  it('are malformed: 422', async () => {
    for (const authorization of ['Bearer', 'Bearer x', 'Bearer a.b.c', `Bearer ${'x'.repeat(5_000)}`]) {
      expect(await codeOf(authorization), authorization.slice(0, 20)).to.deep.equal([422, 'TOKEN_MALFORMED']);
    }
    const [header, , signature] = root.access_token.split('.');
    expect(await codeOf(`Bearer ${header}..${signature}`)).to.deep.equal([401, 'TOKEN_INVALID']);
  });

  it('are rejected with 401 when altered or signed with another key', async () => {
    const [header = '', payload = '', signature = ''] = root.access_token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Json;
    const altered = Buffer.from(JSON.stringify({ ...claims, tenantid: 0 })).toString('base64url');
    expect(await codeOf(`Bearer ${header}.${altered}.${signature}`)).to.deep.equal([401, 'TOKEN_INVALID']);

    const { privateKey } = await generateKeyPair('ES256');
    const { kid = '' } = decodeProtectedHeader(root.access_token);
    for (const id of [kid, 'unknown']) {
      const forged = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: id }).sign(privateKey);
      expect(await codeOf(`Bearer ${forged}`)).to.deep.equal([401, 'TOKEN_INVALID']);
    }
    const none = Buffer.from(JSON.stringify({ alg: 'none', kid })).toString('base64url');
    const [status] = await codeOf(`Bearer ${none}.${payload}.`);
    expect(status).to.be.oneOf([401, 422]);
    const secret = new TextEncoder().encode(JSON.stringify(claims));
    const symmetric = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(secret);
    expect(await codeOf(`Bearer ${symmetric}`)).to.deep.equal([401, 'TOKEN_INVALID']);
  });

  it('expire with exactly this response, even if verified before', async () => {
    expect((await query(`Bearer ${root.access_token}`))[0]).to.equal(200);
    clock.offsetMs = 86_401_000;
    expect(await query(`Bearer ${root.access_token}`)).to.deep.equal([
      401,
      '{"error":"Token expired.","status":401,"code":"TOKEN_EXPIRED"}',
    ]);
  });

  it('expire after ACCESS_TOKEN_SECONDS and REFRESH_TOKEN_SECONDS', async () => {
    const env = { ACCESS_TOKEN_SECONDS: '120', REFRESH_TOKEN_SECONDS: '3600' };
    const short = await WebFixture.start({ env });
    try {
      const { tenantid } = await short.createTenant('brief', 'create table customer (id int primary key)');
      const { access_token, refresh_token } = await short.signIn(tenantid);
      const seconds = [access_token, refresh_token].map((token) => {
        const { iat = 0, exp = 0 } = decodeJwt(token);
        return exp - iat;
      });
      expect(seconds).to.deep.equal([120, 3_600]);
    } finally {
      await short.stop();
    }
  });

  it('of one kind are refused where the other is required', async () => {
    expect(await codeOf(`Bearer ${root.refresh_token}`)).to.deep.equal([401, 'TOKEN_WRONG_TYPE']);
    const refresh = await fixture.fetch('/auth', {
      headers: { authorization: `Bearer ${root.access_token}` },
    });
    expect([refresh.status, ((await refresh.json()) as Json)['code']]).to.deep.equal([
      401,
      'TOKEN_WRONG_TYPE',
    ]);
  });

  async function makeRole(login: string): Promise<string> {
    const made = await fixture.control(
      root.access_token,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      { input: { login, password: 'first of two', capabilities: ['login', 'select'] } },
    );
    return textAt(made, 'data.create_role.roleid');
  }

  it('are revoked by a password change, and those issued right after it are valid', async () => {
    const roleid = await makeRole('changer');
    const before = await fixture.signIn(tenant.tenantid, 'changer', 'first of two');
    const changed = await fixture.control(
      before.access_token,
      'mutation ($id: ID!) { update_role(roleid: $id, input: { password: "second of two" }) { roleid } }',
      { id: roleid },
    );
    expect(changed.errors).to.equal(undefined);
    const after = await fixture.signIn(tenant.tenantid, 'changer', 'second of two');
    expect(await codeOf(`Bearer ${before.access_token}`)).to.deep.equal([401, 'TOKEN_REVOKED']);
    expect((await query(`Bearer ${after.access_token}`))[0]).to.equal(200);
    const refresh = await fixture.fetch('/auth', {
      headers: { authorization: `Bearer ${before.refresh_token}` },
    });
    expect(((await refresh.json()) as Json)['code']).to.equal('TOKEN_REVOKED');
  });

  it('are revoked within a second when another process deletes their role', async () => {
    const roleid = await makeRole('leaver');
    const { access_token } = await fixture.signIn(tenant.tenantid, 'leaver', 'first of two');
    expect((await query(`Bearer ${access_token}`))[0]).to.equal(200);
    await knexOf(fixture.testDatabase.database)('rowpost.role').where({ roleid }).update({ deleted: true });
    clock.offsetMs = 1_000;
    expect(await codeOf(`Bearer ${access_token}`)).to.deep.equal([401, 'TOKEN_REVOKED']);
  });

  it('are not valid for another role that reuses an id lost to a restore', async () => {
    const roleid = await makeRole('lost');
    const { access_token } = await fixture.signIn(tenant.tenantid, 'lost', 'first of two');
    const { pool } = fixture.testDatabase.database;
    await pool.query('delete from rowpost.role where roleid = $1', [roleid]);
    await pool.query(`select setval(pg_get_serial_sequence('rowpost.role', 'roleid'), $1, false)`, [roleid]);
    expect(await makeRole('next')).to.equal(roleid);
    clock.offsetMs = 1_000;
    expect(await codeOf(`Bearer ${access_token}`)).to.deep.equal([401, 'TOKEN_REVOKED']);
    clock.offsetMs = 0;
    const next = await fixture.signIn(tenant.tenantid, 'next', 'first of two');
    clock.offsetMs = 1_000;
    expect((await query(`Bearer ${next.access_token}`))[0]).to.equal(200);
  });

  it('signed with a key created by another process are accepted, and those of the old key remain valid', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    await insertSigningKey(fixture.testDatabase.database.pool, KeyRing.parse(TEST_SECRET_KEYS), {
      kid: 'rotated',
      publicJwk: { ...(await exportJWK(publicKey)) },
      privateJwk: { ...(await exportJWK(privateKey)) },
    });
    const claims = decodeJwt(root.access_token);
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'rotated' })
      .sign(privateKey);
    clock.offsetMs = 2_000;
    expect((await query(`Bearer ${token}`))[0]).to.equal(200);
    expect((await query(`Bearer ${root.access_token}`))[0]).to.equal(200);
    const next = await fixture.signIn(tenant.tenantid);
    expect(decodeProtectedHeader(next.access_token).kid).to.equal('rotated');
  });
});
