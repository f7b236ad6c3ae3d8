import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { pino } from 'pino';
import { openDatabase, type Database } from '../../src/db/pool/database.js';
import { TEST_BUDGET, testConfig, testKeyRing, testLog } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';
import { ROOT_PASSWORD, WebFixture, type Json } from './webFixture.js';

/** A way to PostgreSQL that can be cut and restored. */
class CuttableWay {
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #target = { port: 0, host: '' };
  #port = 0;

  async lead(url: string): Promise<string> {
    const address = new URL(url);
    this.#target = { port: Number(address.port), host: address.hostname };
    await this.restore();
    address.hostname = '127.0.0.1';
    address.port = String(this.#port);
    return address.href;
  }

  async restore(): Promise<void> {
    const server = createServer((near) => {
      const far = connect(this.#target);
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on('error', () => socket.destroy());
      }
      near.pipe(far);
      far.pipe(near);
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  cut(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }
}

describe('when PostgreSQL goes away', () => {
  const way = new CuttableWay();
  let fixture: WebFixture;
  let database: Database;

  before(async () => {
    fixture = await WebFixture.start({
      openDatabase: async (url) => {
        const { statementTimeoutMs, lockTimeoutMs, poolTimeoutMs } = testConfig();
        const limits = { budget: TEST_BUDGET, statementTimeoutMs, lockTimeoutMs, poolTimeoutMs };
        database = openDatabase({
          url: await way.lead(url),
          ...limits,
          keyRing: testKeyRing,
          applicationName: 'test',
          log: testLog,
        });
        return database;
      },
    });
  });
  after(async () => {
    await fixture.stop();
    await database.close();
    way.cut();
  });

  it('every endpoint reports it, none hangs, and all recover afterwards', async () => {
    const { tenantid } = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    const { access_token, refresh_token } = await fixture.signIn(tenantid);
    const ask = (path: string): Promise<Response> =>
      fixture.postJson(
        path,
        { query: '{ __typename role: __typename }' },
        { authorization: `Bearer ${access_token}` },
      );
    expect((await ask('/query')).status).to.equal(200);

    way.cut();
    fixture.principals.forget(tenantid);
    const requests: [string, Promise<Response>][] = [
      ['query', ask('/query')],
      ['roles_pbac', ask('/roles_pbac')],
      ['auth', fixture.postJson('/auth', { tenantid, login: 'root', password: ROOT_PASSWORD })],
      ['refresh', fixture.fetch('/auth', { headers: { authorization: `Bearer ${refresh_token}` } })],
    ];
    for (const [name, request] of requests) {
      const response = await request;
      expect([response.status, ((await response.json()) as Json)['code']], name).to.deep.equal([
        503,
        'DATABASE_UNAVAILABLE',
      ]);
    }
    expect((await fixture.fetch('/livez')).status).to.equal(200);
    const ready = await fixture.fetch('/readyz');
    expect([ready.status, ((await ready.json()) as Json)['down']]).to.deep.equal([503, ['postgres']]);

    await way.restore();
    await waitFor('the service to be ready', async () => (await fixture.fetch('/readyz')).status === 200);
    expect((await ask('/query')).status).to.equal(200);
    expect((await ask('/roles_pbac')).status).to.equal(200);
  });
});

describe('errors of our own', () => {
  const lines: string[] = [];
  let fixture: WebFixture;

  before(async () => {
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    fixture = await WebFixture.start({ log });
  });
  after(() => fixture.stop());

  it('are logged and not disclosed; no response and no log contains secrets', async () => {
    const { tenantid } = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    const { access_token, refresh_token } = await fixture.signIn(tenantid);
    const setKey = 'mutation ($key: String!) { set_email_apikey(apikey: $key) { apikey } }';
    await fixture.control(access_token, setKey, { key: 'SG.the-secret-key' });
    await fixture.postJson('/auth', { tenantid, login: 'root', password: 'wrong-secret' });

    const { pool } = fixture.testDatabase.database;
    await pool.query('alter table rowpost.email_apikey rename to elsewhere');
    const result = await fixture.control(access_token, setKey, { key: 'SG.another-secret-key' });
    await pool.query('alter table rowpost.elsewhere rename to email_apikey');
    expect(result.data).to.equal(null);
    expect(result.errors?.[0]?.extensions.code).to.equal('INTERNAL_ERROR');
    expect(JSON.stringify(result)).to.not.match(/insert|rowpost|email_apikey"? does not exist|at \//);

    const log = lines.join('');
    expect(log).to.include('a control field failed');
    for (const secret of [access_token, refresh_token, ROOT_PASSWORD, 'wrong-secret', 'secret-key']) {
      expect(log).to.not.include(secret);
    }
  });
});

describe('a commit of /roles_pbac that fails', () => {
  let fixture: WebFixture;
  let token: string;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    token = (await fixture.signIn(tenantid)).access_token;
    await fixture.testDatabase.database.pool.query(`
      create function rowpost.fail_at_commit() returns trigger language plpgsql as $$
      begin
        if new.login = 'ended' then perform pg_terminate_backend(pg_backend_pid()); end if;
        if new.login = 'refused' then raise exception 'no'; end if;
        return null;
      end $$;
      create constraint trigger fail_at_commit after insert on rowpost.role
        deferrable initially deferred for each row execute function rowpost.fail_at_commit()`);
  });
  after(() => fixture.stop());

  const create = async (login: string): Promise<unknown> => {
    const mutation = `mutation ($login: String) { create_role(input: {login: $login}) { login } }`;
    const { data, errors } = await fixture.control(token, mutation, { login });
    return [data, errors?.[0]?.extensions.code];
  };

  it('is not reported as a success', async () => {
    expect(await create('fine')).to.deep.equal([{ create_role: { login: 'fine' } }, undefined]);
    const [data, code] = (await create('refused')) as [unknown, unknown];
    expect(data ?? null).to.equal(null);
    expect(code).to.be.a('string').that.does.not.equal('OUTCOME_UNKNOWN');
  });

  it('has an unknown outcome when the connection breaks', async () => {
    const [data, code] = (await create('ended')) as [unknown, unknown];
    expect(data ?? null).to.equal(null);
    expect(code).to.equal('OUTCOME_UNKNOWN');
  });
});
