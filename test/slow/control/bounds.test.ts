import { expect } from 'chai';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { at, codeOf, PXADMIN_PASSWORD, WebFixture, type GraphqlResult } from '../../api/webFixture.js';

const ANSWER_BYTES = 20_000;

describe('roles_pbac: limits per request and per tenant', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start({
      env: { MAX_RESPONSE_BYTES: String(ANSWER_BYTES), PG_POOL_TIMEOUT_MS: '20000' },
    });
    tenant = await fixture.createTenant('shop');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
  });
  after(() => fixture.stop());

  const repeat = (count: number, field: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => field(index)).join(' ');
  const roles = async (filter: string): Promise<unknown> =>
    at(await fixture.control(root, `{ role(filter: "${filter}") { login } }`), 'data.role');

  it('at most ten passwords are set, including through fragments and variables', async () => {
    const create = (index: number): string =>
      `m${index}: create_role(input: { login: "p${index}", password: $p }) { roleid }`;
    const eleven = `mutation ($p: String) { ...all } fragment all on Mutation { ${repeat(11, create)} }`;
    expect(codeOf(await fixture.control(root, eleven, { p: 'correct horse' }))).to.equal(
      'DOCUMENT_TOO_COMPLEX',
    );
    expect(await roles("login = 'p0'")).to.deep.equal([]);
    const two = `mutation ($p: String) { ...all } fragment all on Mutation { ${repeat(2, create)} }`;
    expect((await fixture.control(root, two, { p: 'correct horse' })).errors).to.equal(undefined);
    for (const login of ['p0', 'p1']) await fixture.signIn(tenant.tenantid, login, 'correct horse');
  });

  it('at most a hundred mutations, including those of Utility', async () => {
    const create = (index: number): string =>
      `m${index}: create_role(input: { login: "n${index}" }) { roleid }`;
    const many = await fixture.control(root, `mutation { ${repeat(101, create)} }`);
    expect(codeOf(many)).to.equal('DOCUMENT_TOO_COMPLEX');
    const set = (index: number): string => `m${index}: set_email_apikey(apikey: "SG.x") { apikey }`;
    const below = await fixture.control(root, `mutation { Utility { ${repeat(101, set)} } }`);
    expect(codeOf(below)).to.equal('DOCUMENT_TOO_COMPLEX');
    expect((await fixture.control(root, `mutation { ${repeat(100, create)} }`)).errors).to.equal(undefined);
  });

  it('no password is hashed while the transaction holds row locks', async () => {
    const { pool } = fixture.testDatabase.database;
    const change = repeat(
      10,
      (index) =>
        `m${index}: update_role(roleid: ${tenant.rootRoleid}, input: { password: "correct horse ${index}" }) { roleid }`,
    );
    const progress = { done: false };
    const request = fixture.control(root, `mutation { ${change} }`).finally(() => {
      progress.done = true;
    });
    let open = 0;
    let samples = 0;
    while (!progress.done) {
      const { rows } = await pool.query<{ open: boolean }>(
        `select exists (select from pg_locks l join pg_stat_activity s using (pid)
           where s.datname = current_database() and s.pid <> pg_backend_pid() and s.xact_start < now() - interval '50 ms'
             and l.mode = 'RowExclusiveLock') as open`,
      );
      samples += 1;
      if (rows[0]?.open) open += 1;
    }
    expect((await request).errors).to.equal(undefined);
    expect(samples).to.be.above(10);
    expect(open / samples).to.be.below(0.2);
    root = (await fixture.signIn(tenant.tenantid, 'root', 'correct horse 9')).access_token;
  });

  it('no password is hashed inside the transaction that creates tenants', async () => {
    const { pool } = fixture.testDatabase.database;
    const pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
    const create = repeat(
      8,
      (index) => `m${index}: create_tenant(input: { name: "made ${index}", root_login: "root",
        root_password: "correct horse ${index}" }) { tenantid }`,
    );
    const progress = { done: false };
    const request = fixture.control(pxadmin, `mutation { ${create} }`).finally(() => {
      progress.done = true;
    });
    let idle = 0;
    let samples = 0;
    while (!progress.done) {
      const { rows } = await pool.query<{ idle: boolean }>(
        `select exists (select from pg_stat_activity where datname = current_database()
           and state = 'idle in transaction' and state_change < clock_timestamp() - interval '30 ms') as idle`,
      );
      samples += 1;
      if (rows[0]?.idle) idle += 1;
    }
    const made = await request;
    expect(made.errors).to.equal(undefined);
    expect(idle / samples).to.be.below(0.2);
    const tenantid = Number(at(made, 'data.m7.tenantid'));
    await fixture.signIn(tenantid, 'root', 'correct horse 7');
  });

  it('variables may nest 200 levels deep, as at /query', async () => {
    // As text: what is so deep can't be written by JSON.stringify either.
    const send = async (query: string, levels: number): Promise<GraphqlResult> => {
      const deep = '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
      const response = await fixture.fetch('/roles_pbac', {
        method: 'POST',
        headers: { authorization: `Bearer ${root}`, 'content-type': 'application/json' },
        body: `{"query":${JSON.stringify(query)},"variables":{"deep":${deep}}}`,
      });
      return (await response.json()) as GraphqlResult;
    };
    const preview = `query ($deep: GenericScalar) {
      Utility { preview_email(email_type: "none", context: $deep) { subject } } }`;
    expect(codeOf(await send(preview, 200))).to.equal('NOT_FOUND');
    for (const levels of [201, 100_000]) {
      const [error] = (await send(preview, levels)).errors!;
      expect(error!.message, String(levels)).to.equal('A variable is nested more than 200 levels deep.');
      expect(error!.extensions).to.deep.include({ code: 'BAD_USER_INPUT', hint: 'Send a flatter value.' });
    }
    // What a document does not declare is ignored.
    expect((await send('{ role { roleid } }', 100_000)).errors).to.equal(undefined);
  });

  it('a tenant with queued requests leaves connections for others to sign in', async () => {
    const other = await fixture.createTenant('other');
    const { pool } = fixture.testDatabase.database;
    const holder = await pool.connect();
    try {
      await holder.query('begin');
      await holder.query('select from rowpost.tenant where tenantid = $1 for update', [tenant.tenantid]);
      // Each would hold a connection while it waits for the row; more than the process has.
      const requests = Array.from({ length: 30 }, (_, index) =>
        fixture.control(root, `mutation { create_role(input: { login: "queued ${index}" }) { roleid } }`),
      );
      const refused = await Promise.any(
        requests.map(async (request) => {
          const code = codeOf(await request);
          if (code !== 'TOO_BUSY') throw new Error(`answered ${String(code)}`);
          return code;
        }),
      );
      expect(refused).to.equal('TOO_BUSY');
      // Before any of them has its row.
      await fixture.signIn(other.tenantid);
      await holder.query('rollback');
      const codes = (await Promise.all(requests)).map(codeOf);
      expect(codes.filter((code) => code === 'TOO_BUSY')).to.have.length(8);
      expect(codes.filter((code) => code === undefined)).to.have.length(22);
    } finally {
      holder.release();
    }
  });

  it('responses are bounded: one list, several lists, and mutation results', async () => {
    const template = 'x'.repeat(1000);
    const made = await fixture.control(
      root,
      'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }',
      {
        input: {
          email_type: 'long',
          template,
          subject: 's',
          recipients: ['a@example.com'],
          sender: 'b@example.com',
        },
      },
    );
    expect(made.errors).to.equal(undefined);
    const aliases = repeat(25, (index) => `a${index}: template`);
    const code = async (query: string): Promise<string | undefined> =>
      codeOf(await fixture.control(root, query));
    expect(await code(`{ email_types { template } }`)).to.equal(undefined);
    expect(await code(`{ email_types { ${aliases} } }`)).to.equal('DOCUMENT_TOO_COMPLEX');
    expect(await code(`{ ${repeat(25, (index) => `l${index}: email_types { template }`)} }`)).to.equal(
      'DOCUMENT_TOO_COMPLEX',
    );
    const changed = `mutation { update_email_type(email_type: "long", input: { subject: "t" }) { ${aliases} } }`;
    expect(await code(changed)).to.equal('DOCUMENT_TOO_COMPLEX');
    // What could not be told was not done.
    const after = await fixture.control(root, '{ email_types { subject } }');
    expect(after.data).to.deep.equal({ email_types: [{ subject: 's' }] });
    const tree = `mutation { update_role(roleid: ${tenant.rootRoleid}, input: { name: "r" }) {
      children { parent { children { parent { roleid } } } } } }`;
    expect(await code(tree)).to.equal('DOCUMENT_TOO_COMPLEX');
  });
});
