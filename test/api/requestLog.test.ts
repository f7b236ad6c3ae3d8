import { expect } from 'chai';
import { pino } from 'pino';
import { waitFor } from '../support/waitFor.js';
import { ConsoleBrowser } from './consoleBrowser.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture, type Json } from './webFixture.js';
import { knexOf } from '../support/knexOf.js';

describe('the request log', () => {
  const lines: Json[] = [];
  let fixture: WebFixture;
  let token: string;
  let tenant: { tenantid: number; roleid: number };

  before(async () => {
    const log = pino(
      { level: 'info' },
      { write: (line: string) => void lines.push(JSON.parse(line) as Json) },
    );
    fixture = await WebFixture.start({ log, env: { LOG_LINES_PER_SECOND: '100' } });
    const { tenantid } = await fixture.createTenant(
      'shop',
      `create table customer (id int primary key, name text);
       create table standby (id int primary key);
       create function refuse_writes() returns trigger language plpgsql as
         $$ begin set local transaction_read_only = on; delete from standby; return new; end $$;
       create trigger refuse_writes before insert on standby for each row execute function refuse_writes();`,
    );
    const signedIn = await fixture.signIn(tenantid);
    token = signedIn.access_token;
    tenant = { tenantid, roleid: signedIn.roleid };
  });
  after(() => fixture.stop());

  const lineOf = (id: string | null): Promise<Json> =>
    waitFor(`the line of ${id}`, () => lines.find((line) => line['id'] === id && line['msg'] === 'request'));

  it("contains the caller, route, outcome and duration under the client's request id", async () => {
    const query = 'query Customers { customer(filter: "name = \'Secret Name\'") { id } }';
    const response = await fixture.postJson(
      '/query',
      { query, operationName: 'Customers' },
      { authorization: `Bearer ${token}` },
    );
    expect(response.status).to.equal(200);
    const line = await lineOf(response.headers.get('x-request-id'));
    expect(line).to.include({
      ...tenant,
      method: 'POST',
      route: '/query',
      status: 200,
      operation: 'Customers',
    });
    expect(line['ms']).to.be.within(0, 60_000);
    expect(JSON.stringify(lines)).to.not.include('Secret Name').and.not.include(token);
  });

  it('contains who used the console, and what was refused', async () => {
    const browser = new ConsoleBrowser(fixture);
    await browser.signIn('shop', ROOT_LOGIN, ROOT_PASSWORD);
    const page = await browser.get('/console/deliveries/7');
    const form = await browser.post('/console/roles/edit', { csrf: 'x' });
    for (const [response, status, code] of [
      [page, 404, 'NOT_FOUND'],
      [form, 403, 'PERMISSION_DENIED'],
    ] as const) {
      await response.text();
      const line = await lineOf(response.headers.get('x-request-id'));
      expect(line).to.include({ ...tenant, route: '/console/', status, code });
    }
  });

  it('contains the error code, whatever the operation is called', async () => {
    const response = await fixture.postJson('/query', {
      query: '{ customer { id } }',
      operationName: 'a b <c>',
    });
    const line = await lineOf(response.headers.get('x-request-id'));
    expect(line).to.include({ status: 401, code: 'TOKEN_MISSING' });
    expect(line).to.not.have.property('operation');
    const signIn = await fixture.postJson('/auth', { ...tenant, login: 'root', password: ROOT_PASSWORD });
    expect(await lineOf(signIn.headers.get('x-request-id'))).to.include({
      ...tenant,
      route: '/auth',
      status: 200,
    });
  });

  it('skips successful probes', async () => {
    const probe = await fixture.fetch('/livez');
    const last = await fixture.fetch('/nothing/here');
    await lineOf(last.headers.get('x-request-id'));
    expect(lines.some((line) => line['id'] === probe.headers.get('x-request-id'))).to.equal(false);
  });

  it('contains what PostgreSQL said to a mutation that it refused', async () => {
    const response = await fixture.postJson(
      '/query',
      { query: 'mutation { create_standby(input: { id: 1 }) { id } }' },
      { authorization: `Bearer ${token}` },
    );
    const line = await lineOf(response.headers.get('x-request-id'));
    expect(line).to.include({ status: 503, code: 'DATABASE_UNAVAILABLE', cause: '25006', level: 50 });
  });

  it('logs internal errors under the request id', async () => {
    const knex = knexOf(fixture.testDatabase.database);
    await knex.raw('alter table rowpost.policy_rule rename to policy_rule_away');
    try {
      fixture.principals.forgetAll();
      const response = await fixture.postJson(
        '/query',
        { query: '{ customer { id } }' },
        { authorization: `Bearer ${token}` },
      );
      expect(response.status).to.equal(500);
      const id = response.headers.get('x-request-id');
      expect(await lineOf(id)).to.include({ status: 500, code: 'INTERNAL_ERROR', level: 50 });
      expect(lines.some((line) => line['id'] === id && line['msg'] === 'a request failed')).to.equal(true);
    } finally {
      await knex.raw('alter table rowpost.policy_rule_away rename to policy_rule');
    }
  });
});
