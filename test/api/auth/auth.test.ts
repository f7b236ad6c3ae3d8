import { expect } from 'chai';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import {
  at,
  textAt,
  PXADMIN_PASSWORD,
  ROOT_LOGIN,
  ROOT_PASSWORD,
  WebFixture,
  type AuthBody,
  type Json,
} from '../webFixture.js';

describe('POST /auth, GET /auth', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop', 'create table customer (id int primary key, name text)');
  });
  after(() => fixture.stop());

  const credentials = (): Json => ({ tenantid: tenant.tenantid, login: ROOT_LOGIN, password: ROOT_PASSWORD });

  it('returns tokens, the role, the routes and both schemas', async () => {
    const response = await fixture.postJson('/auth', credentials());
    expect(response.status).to.equal(200);
    expect(response.headers.get('cache-control')).to.equal('no-store');
    const body = (await response.json()) as Json;
    expect(body).to.have.all.keys(
      'access_token',
      'refresh_token',
      'message',
      'roleid',
      'tenantid',
      'routes',
      'schema',
      'rpb_schema',
    );
    expect(body['message']).to.equal('Logged in as root.');
    expect(body['roleid']).to.equal(tenant.rootRoleid);
    expect(body['tenantid']).to.equal(tenant.tenantid);
    const base = fixture.config.baseUrl;
    expect(body['routes']).to.deep.equal({
      base: `${base}/`,
      query: `${base}/query`,
      roles_pbac: `${base}/roles_pbac`,
    });
    expect(at(body, 'schema.gql')).to.include('type customer');
    expect(at(body, 'schema.json.__schema.queryType.name')).to.equal('Query');
    expect(at(body, 'rpb_schema.gql')).to.include('input email_typesInput');
    expect(at(body, 'rpb_schema.json.__schema.types')).to.be.an('array');
  });

  it('accepts urlencoded and multipart forms, with tenantid as text', async () => {
    const fields = { ...credentials(), tenantid: String(tenant.tenantid) } as Record<string, string>;
    const multipart = new FormData();
    for (const [name, value] of Object.entries(fields)) multipart.set(name, value);
    for (const body of [new URLSearchParams(fields), multipart]) {
      const response = await fixture.fetch('/auth', { method: 'POST', body });
      expect(response.status).to.equal(200);
    }
    const json = await fixture.postJson('/auth', {
      ...credentials(),
      tenantid: ` ${tenant.tenantid} `,
      more: 1,
    });
    expect(json.status).to.equal(200);
  });

  it('responds to a wrong password, an unknown login and an unknown tenant identically', async () => {
    const responses = await Promise.all(
      [{ password: 'wrong' }, { login: 'nobody here' }, { tenantid: 999_999 }].map(async (change) => {
        const response = await fixture.postJson('/auth', { ...credentials(), ...change });
        return [response.status, await response.text()];
      }),
    );
    const failure = '{"error":"Login failed.","status":401,"code":"LOGIN_FAILED"}';
    expect(responses).to.deep.equal([
      [401, failure],
      [401, failure],
      [401, failure],
    ]);
  });

  it('takes the exact login, although no other role may have one that differs only in case or form', async () => {
    const { access_token: root } = await fixture.signIn(tenant.tenantid);
    for (const [login, likeIt] of [
      ['Grace', 'gRACE'],
      ['caf\u00e9', 'cafe\u0301'],
    ] as const) {
      const create = (name: string) =>
        fixture.control(root, 'mutation ($input: roleInput) { create_role(input: $input) { roleid } }', {
          input: { login: name, password: 'ink and paper', capabilities: ['login'] },
        });
      expect(at(await create(login), 'data.create_role.roleid')).to.be.a('string');
      expect(at(await create(likeIt), 'errors.0.extensions.code')).to.equal('NAME_TAKEN');
      for (const [name, status] of [
        [login, 200],
        [likeIt, 401],
      ] as const) {
        const response = await fixture.postJson('/auth', {
          ...credentials(),
          login: name,
          password: 'ink and paper',
        });
        expect(response.status, name).to.equal(status);
      }
    }
  });

  it('explains what is wrong with an invalid request', async () => {
    const cases: [unknown, number, string][] = [
      [{ login: 'a', password: 'b' }, 400, 'BAD_REQUEST'],
      [{ ...credentials(), tenantid: 'first' }, 400, 'BAD_REQUEST'],
      [{ ...credentials(), tenantid: -1 }, 400, 'BAD_REQUEST'],
      [{ ...credentials(), password: 5 }, 400, 'BAD_REQUEST'],
      [[], 400, 'BAD_REQUEST'],
    ];
    for (const [body, status, code] of cases) {
      const response = await fixture.postJson('/auth', body);
      expect([response.status, ((await response.json()) as Json)['code']]).to.deep.equal([status, code]);
    }
    const text = await fixture.fetch('/auth', {
      method: 'POST',
      body: 'login=a',
      headers: { 'content-type': 'text/plain' },
    });
    expect([text.status, ((await text.json()) as Json)['code']]).to.deep.equal([
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ]);
    const big = await fixture.postJson('/auth', {
      ...credentials(),
      more: 'x'.repeat(fixture.config.bodyLimitBytes),
    });
    expect([big.status, ((await big.json()) as Json)['code']]).to.deep.equal([413, 'BODY_TOO_LARGE']);
  });

  it('refreshes with the refresh token, whatever the Content-Type', async () => {
    const { refresh_token } = await fixture.signIn(tenant.tenantid);
    const response = await fixture.fetch('/auth', {
      headers: {
        authorization: `Bearer ${refresh_token}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    });
    expect(response.status).to.equal(200);
    const body = (await response.json()) as AuthBody;
    expect(body.message).to.equal('Logged in as root.');
    const { data } = await fixture.graphql('/query', body.access_token, '{ customer { id } }');
    expect(data).to.deep.equal({ customer: [] });
  });

  it('signs pxadmin in to the installation, which has no tables', async () => {
    const body = (await (
      await fixture.postJson('/auth', { tenantid: 0, login: 'pxadmin', password: PXADMIN_PASSWORD })
    ).json()) as Json;
    expect(body['message']).to.equal('Logged in as pxadmin.');
    expect(at(body, 'rpb_schema.gql')).to.include('create_tenant');
  });

  it('refuses roles without the capability login, and deleted ones', async () => {
    const { access_token } = await fixture.signIn(tenant.tenantid);
    const make = (login: string, capabilities: readonly string[]): Promise<unknown> =>
      fixture.control(
        access_token,
        'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
        {
          input: { login, password: 'secret of a role', capabilities },
        },
      );
    await make('locked out', ['select']);
    const refused = await fixture.postJson('/auth', {
      ...credentials(),
      login: 'locked out',
      password: 'secret of a role',
    });
    expect([refused.status, ((await refused.json()) as Json)['code']]).to.deep.equal([
      403,
      'PERMISSION_DENIED',
    ]);

    const made = await make('leaver', ['login']);
    expect((await fixture.signIn(tenant.tenantid, 'leaver', 'secret of a role')).message).to.equal(
      'Logged in as leaver.',
    );
    await fixture.control(
      access_token,
      `mutation { delete_role(roleid: "${textAt(made, 'data.create_role.roleid')}") { deleted } }`,
    );
    const gone = await fixture.postJson('/auth', {
      ...credentials(),
      login: 'leaver',
      password: 'secret of a role',
    });
    expect([gone.status, ((await gone.json()) as Json)['code']]).to.deep.equal([401, 'LOGIN_FAILED']);
  });
});
