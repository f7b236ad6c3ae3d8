import { expect } from 'chai';
import { textAt, WebFixture, type GraphqlResult } from '../../api/webFixture.js';

interface Response {
  readonly status: number;
  readonly retryAfter: number;
  readonly body: GraphqlResult & { readonly code?: string };
}

interface Site {
  readonly tenantid: number;
  readonly root: string;
  readonly nobody: string;
}

describe('a flood of anonymous clients', () => {
  let fixture: WebFixture;
  let site: Site;

  const start = async (env: Readonly<Record<string, string>> = {}): Promise<void> => {
    fixture = await WebFixture.start({ env: { TRUST_PROXY: '1', ...env } });
    site = await openSite('public');
  };
  afterEach(() => fixture.stop());

  const openSite = async (name: string): Promise<Site> => {
    const { tenantid } = await fixture.createTenant(
      name,
      'create table note (id serial primary key, body text)',
    );
    const { access_token: root } = await fixture.signIn(tenantid);
    await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }');
    const rule = { name: 'all', capabilities: ['select', 'insert'], targets: ['note'] };
    const create = 'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }';
    expect((await fixture.control(root, create, { input: rule })).errors).to.equal(undefined);
    const visit = (await (await fixture.postJson('/anonauth', { tenantid })).json()) as {
      access_token: string;
    };
    return { tenantid, root, nobody: visit.access_token };
  };

  const ask = async (
    path: '/query' | '/roles_pbac',
    token: string,
    query: string,
    address = '192.0.2.1',
    variables: unknown = {},
  ): Promise<Response> => {
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address };
    const response = await fixture.postJson(path, { query, variables }, headers);
    const body = (await response.json()) as Response['body'];
    return { status: response.status, retryAfter: Number(response.headers.get('retry-after')), body };
  };

  const expectLimited = ({ status, retryAfter, body }: Response): void => {
    expect([status, body.code ?? body.errors?.[0]?.extensions.code]).to.deep.equal([429, 'RATE_LIMITED']);
    expect(retryAfter).to.be.within(1, 60);
  };

  const createRoles = (prefix: string, count: number): string => {
    const one = (i: number): string => `r${i}: create_role(input: {login: "${prefix}${i}"}) { roleid }`;
    return `mutation { ${Array.from({ length: count }, (_, i) => one(i)).join(' ')} }`;
  };

  it('creates at most 60 roles a minute, 10 from one address', async () => {
    await start();
    let made = 0;
    for (let request = 0; request < 20; request++) {
      const response = await ask('/roles_pbac', site.nobody, createRoles(`a${request}_`, 100));
      expectLimited(response);
    }
    for (let address = 1; address <= 8; address++) {
      const from = `192.0.2.${address}`;
      const first = await ask('/roles_pbac', site.nobody, createRoles(`b${address}_`, 10), from);
      if (first.status === 200) made += 10;
      expectLimited(await ask('/roles_pbac', site.nobody, createRoles(`c${address}_`, 1), from));
    }
    expect(made).to.equal(60);
    const { rows } = await fixture.testDatabase.database.pool.query<{ count: string }>(
      "select count(*) from rowpost.role where tenantid = $1 and login ~ '_'",
      [site.tenantid],
    );
    expect(Number(rows[0]?.count)).to.equal(60);
    // Roles that sign in are not counted, nor are the anonymous clients of another tenant.
    expect((await ask('/roles_pbac', site.root, createRoles('d_', 100))).body.errors).to.equal(undefined);
    const other = await openSite('other');
    const response = await ask('/roles_pbac', other.nobody, createRoles('e_', 10));
    expect(textAt(response.body, 'data.r9.roleid')).to.match(/^\d+$/);
  });

  it('is held to the row limit, however rows are sent', async () => {
    await start({ ANONYMOUS_ROWS_PER_MINUTE: '100' });
    const many = 'mutation ($input: [noteInput!]!) { create_many_note(input: $input) { id } }';
    const input = (count: number): object => ({
      input: Array.from({ length: count }, () => ({ body: 'x' })),
    });
    expect((await ask('/query', site.nobody, many, '192.0.2.1', input(60))).body.errors).to.equal(undefined);
    expectLimited(await ask('/query', site.nobody, many, '192.0.2.2', input(60)));
    const one = (i: number): string => `n${i}: create_note(input: {body: "x"}) { id }`;
    const list = Array.from({ length: 60 }, () => '{body: "x"}').join(' ');
    expectLimited(await ask('/query', site.nobody, `mutation { create_many_note(input: [${list}]) { id } }`));
    const aliases = Array.from({ length: 41 }, (_, i) => one(i)).join(' ');
    expectLimited(await ask('/query', site.nobody, `mutation { ${aliases} }`));
    expectLimited(
      await ask('/query', site.nobody, `mutation { ...all } fragment all on Mutation { ${aliases} }`),
    );
    expect((await ask('/query', site.nobody, `mutation { ${one(1)} }`)).body.errors).to.equal(undefined);
    const { body } = await ask('/query', site.root, '{ Aggregates { count(subquery: "{ note { id } }") } }');
    expect(body.data).to.deep.equal({ Aggregates: { count: [{ count: 61 }] } });
    expect((await ask('/query', site.root, many, '192.0.2.1', input(1_000))).body.errors).to.equal(undefined);
  });

  it('is held to the request limits per tenant and per address', async () => {
    await start({ ANONYMOUS_REQUESTS_PER_MINUTE: '12', ANONYMOUS_REQUESTS_PER_ADDRESS: '5' });
    const { nobody, root } = site;
    const query = '{ __typename }';
    for (const path of ['/query', '/query', '/query', '/roles_pbac', '/query'] as const) {
      expect((await ask(path, nobody, query)).status).to.equal(200);
    }
    expectLimited(await ask('/query', nobody, query));
    expectLimited(await ask('/roles_pbac', nobody, query));
    const others = await Promise.all(
      Array.from({ length: 20 }, (_, i) => ask('/query', nobody, query, `2001:db8:${i}::1`)),
    );
    expect(others.filter(({ status }) => status === 200)).to.have.length(7);
    expect((await ask('/query', root, query)).status).to.equal(200);
    const other = await openSite('other');
    expect((await ask('/query', other.nobody, query)).status).to.equal(200);
  });

  it('counts an IPv6 /64 as one address, in any notation', async () => {
    await start({ ANONYMOUS_REQUESTS_PER_ADDRESS: '2' });
    const { nobody } = site;
    const from = (address: string): Promise<Response> => ask('/query', nobody, '{ __typename }', address);
    expect((await from('2001:db8:1::5')).status).to.equal(200);
    expect((await from('2001:db8:1:0:8000:1:2:3')).status).to.equal(200);
    expectLimited(await from('2001:DB8:1::5:6:7'));
    expect((await from('2001:db8:1:1::5')).status).to.equal(200);
  });
});
