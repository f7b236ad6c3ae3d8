import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { inTransaction } from '../../src/db/pool/inTransaction.js';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { runDoctor } from '../../src/commands/doctor.js';
import { assessBacklog, assessKeys, assessVacuum } from '../../src/commands/doctor/databaseChecks.js';
import { assessCarrierResponse } from '../../src/commands/doctor/outsideChecks.js';
import { revokePublicAccess } from '../../src/db/isolation/databaseGrants.js';
import { readBacklog } from '../../src/db/outbox/backlog.js';
import { storeAccounts } from '../../src/db/email/emailAccounts.js';
import {
  createTenant,
  keyRing,
  writeEvents,
  createRule,
  type TestTenant,
} from '../delivery/pipelineSetup.js';
import { startFakeApi } from '../support/fakeApi.js';
import { testServer } from '../support/postgresServer.js';
import { startRedis, type RedisServer } from '../support/redisServer.js';
import { runRowpost } from '../support/rowpostProcess.js';
import { testEnv } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { knexOf } from '../support/knexOf.js';

describe('rowpost doctor', () => {
  let testDatabase: TestDatabase;
  let redis: RedisServer;
  let provider: Server;
  let requests: string[] = [];
  let folder: string;

  before(async () => {
    testDatabase = await createTestDatabase();
    await revokePublicAccess(testDatabase.database.pool);
    redis = await startRedis();
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-doctor-'));
    provider = createServer((request, response) => {
      requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      response.writeHead(404).end();
    });
    provider.listen(0, '127.0.0.1');
    await once(provider, 'listening');
  });
  beforeEach(() => (requests = []));
  after(async () => {
    provider.close();
    await redis.stop();
    await rm(folder, { recursive: true });
    await testDatabase.drop();
  });

  const env = (overrides: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> =>
    testEnv({
      DATABASE_URL: testDatabase.url,
      REDIS_URL: redis.url,
      MAIL_TRANSPORT: 'sendgrid',
      SENDGRID_BASE_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`,
      STORAGE_URL: `file:${folder}/files`,
      SEND_DEADLINE_MS: '500',
      ...overrides,
    });

  /** What it said, by the names of the checks. */
  async function diagnose(overrides: Readonly<Record<string, string>> = {}) {
    const lines: string[] = [];
    const failed = await runDoctor(env(overrides), (line) => lines.push(line));
    const byName = new Map(lines.map((line) => [line.split(/\s+/)[1]!, line]));
    return { failed, lines, of: (name: string) => byName.get(name) ?? `nothing about ${name}` };
  }

  it('finds no problems in a healthy installation, and sends no email', async () => {
    const { failed, lines } = await diagnose();
    expect(failed, lines.join('\n')).to.equal(0);
    expect(lines.map((line) => line.split(/\s+/).slice(0, 2).join(' '))).to.deep.equal(
      [
        'settings',
        'postgres',
        'rights',
        'migrations',
        'roles',
        'logins',
        'schemas',
        'adopted',
        'capture',
        'clock',
        'autovacuum',
        'secrets',
        'keys',
        'carriers',
        'backlog',
        'queue',
        'sendgrid',
        'storage',
      ].map((name) => `✓ ${name}`),
    );
    expect(requests).to.deep.equal(['GET / undefined']);
  });

  it('reports who else may create objects where names are looked up, and what to run', async () => {
    const { pool } = testDatabase.database;
    await pool.query('grant create on schema public to public');
    const { failed, of } = await diagnose();
    expect(failed).to.equal(1);
    expect(of('schemas')).to.match(
      /^✗ schemas +objects may be created by every role in "public".* → As the owner, run: revoke create on schema public from public$/,
    );
    await pool.query('revoke create on schema "public" from public');
    expect((await diagnose()).of('schemas')).to.match(/^✓ schemas/);
  });

  it('checks the PostgreSQL queue and the mailbox', async () => {
    const { failed, of } = await diagnose({ REDIS_URL: '', MAIL_TRANSPORT: 'mailbox' });
    expect(failed).to.equal(0);
    expect(of('queue')).to.include('in the same PostgreSQL');
    expect(of('sendgrid')).to.include('mailbox');
    expect(requests).to.deep.equal([]);
  });

  it('reports problems by its exit status, and works without a database', async () => {
    const overrides = {
      DATABASE_URL: 'postgres://rowpost:hidden@127.0.0.1:1/x',
      REDIS_URL: 'redis://:hidden@127.0.0.1:1',
    };
    const { code, stdout, stderr } = await runRowpost(['doctor'], env(overrides));
    const said = stdout + stderr;
    expect(code, said).to.equal(1);
    expect(said).to.not.include('hidden');
    expect(said).to.match(/^✗ postgres +PostgreSQL is not responding \(ECONNREFUSED\)\. Is it running/m);
    expect(said).to.match(/^✗ queue +Redis can't be reached \(ECONNREFUSED\) → Start it/m);
    expect(said).to.match(/^✓ sendgrid/m);
  });

  it('creates no embedded database', async () => {
    const dataDir = `${folder}/fresh`;
    const { failed, of } = await diagnose({
      DATABASE_URL: '',
      MAIL_TRANSPORT: '',
      ROWPOST_DATA_DIR: dataDir,
    });
    expect(failed).to.equal(1);
    expect(of('postgres')).to.include('there is no embedded PostgreSQL yet');
    expect(existsSync(dataDir)).to.equal(false);
  });

  it('lists invalid settings', async () => {
    const { failed, lines } = await diagnose({ PG_POOL: 'many', PORT: 'none' });
    expect(failed).to.equal(2);
    expect(lines.join('\n')).to.match(/✗ settings +PORT .*\n✗ settings +PG_POOL /);
  });

  it('finds a Redis with an eviction policy', async () => {
    const client = new Redis(redis.url);
    try {
      await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
      const { failed, of } = await diagnose();
      expect(failed).to.equal(1);
      expect(of('queue')).to.match(/^✗ .*allkeys-lru → Set it to noeviction/);
    } finally {
      await client.config('SET', 'maxmemory-policy', 'noeviction');
      client.disconnect();
    }
  });

  it('finds a Redis that refuses to write, or to let it in', async () => {
    const client = new Redis(redis.url);
    const becauseOf = async (settings: Readonly<Record<string, string>>): Promise<string | undefined> => {
      await client.config('SET', ...Object.entries(settings).flat());
      return (await diagnose()).of('queue');
    };
    try {
      expect(await becauseOf({ maxmemory: '1' })).to.match(
        /^✗ .*refuses to write \(OOM\) → .*raise maxmemory/,
      );
      expect(await becauseOf({ maxmemory: '0', 'min-replicas-to-write': '1' })).to.match(
        /^✗ .*refuses to write \(NOREPLICAS\)/,
      );
      await client.config('SET', 'min-replicas-to-write', '0');
      await client.replicaof('127.0.0.1', 1);
      expect((await diagnose()).of('queue')).to.match(/^✗ .*refuses to write \(READONLY\) → It is a replica/);
      await client.replicaof('NO', 'ONE');
      expect(await becauseOf({ requirepass: 'hidden' })).to.match(/^✗ .*can't be reached \(NOAUTH\)/);
    } finally {
      await client.config('SET', 'requirepass', '');
      client.disconnect();
    }
  });

  it('finds a provider that hangs, and one that is unreachable', async () => {
    const mute = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    try {
      const hanging = await diagnose({ SENDGRID_BASE_URL: `http://127.0.0.1:${port}/` });
      expect(hanging.of('sendgrid')).to.match(/^✗ .*no response within 500 ms/);
    } finally {
      mute.closeAllConnections();
      mute.close();
    }
    const away = await diagnose({ SENDGRID_BASE_URL: `http://127.0.0.1:${port}/` });
    expect(away.of('sendgrid')).to.match(/^✗ .*ECONNREFUSED/);
  });

  it('checks a carrier by its response status', () => {
    expect(assessCarrierResponse(401, 12)).to.deep.equal({
      ok: true,
      says: 'SendGrid can be reached in 12 ms and asks for a key, as expected',
    });
    expect(assessCarrierResponse(404, 12)).to.deep.equal({
      ok: true,
      says: 'SendGrid can be reached in 12 ms',
    });
    for (const status of [407, 429, 500, 503]) {
      expect(assessCarrierResponse(status, 12)).to.deep.include({
        ok: false,
        says: `SendGrid responds with ${status}`,
      });
    }
  });

  it("finds a provider that refuses all tenants' keys, but not a single one", () => {
    expect(assessKeys({ tenants: 0, paused: [] }).ok).to.equal(true);
    expect(assessKeys({ tenants: 3, paused: [7] })).to.deep.equal({
      ok: true,
      says: '3 tenants have an account; the carriers reject those of tenants 7',
    });
    expect(assessKeys({ tenants: 2, paused: [7, 9] })).to.deep.include({
      ok: false,
      says: 'the carriers reject the accounts of all tenants (7, 9)',
    });
  });

  it("checks the tenants' carriers, sends nothing, and shows no secret", async () => {
    const { database } = testDatabase;
    const api = await startFakeApi();
    const tenants = [await createTenant(database), await createTenant(database)];
    const set = (tenant: TestTenant, apikey: string) =>
      inTransaction(database.pool, (tx) =>
        storeAccounts(tx, keyRing, {
          tenantid: tenant.tenantid,
          transports: JSON.stringify([{ kind: 'resend', apikey }]),
          setBy: tenant.roleid,
          emailsPerSecond: 0,
        }),
      );
    try {
      await set(tenants[0]!, 're_good');
      await set(tenants[1]!, 're_bad');
      api.reply = ({ headers }) => ({
        status: headers.authorization === 'Bearer re_good' ? 200 : 401,
        body: { name: 'missing_api_key', message: `no such key ${headers.authorization}` },
      });
      const some = await diagnose({ RESEND_BASE_URL: api.url });
      expect(some.of('carriers')).to.match(
        new RegExp(`^✓ carriers +resend recognizes 1 of 2 \\(tenant ${tenants[1]!.tenantid}: .*401`),
      );
      expect(some.of('sendgrid')).to.match(/^✓ .*all tenants send with other carriers/);
      expect(requests).to.deep.equal([]);
      expect(new Set(api.calls.map(({ method, path: at }) => `${method} ${at}`))).to.deep.equal(
        new Set(['GET /domains']),
      );
      api.reply = () => ({ status: 503 });
      const none = await diagnose({ RESEND_BASE_URL: api.url });
      expect(none.of('carriers')).to.match(/^✗ carriers +resend recognizes 0 of 2/);
      expect(none.lines.join()).to.not.match(/re_(good|bad)/);
    } finally {
      await api.stop();
      for (const { tenantid } of tenants)
        await knexOf(database)('rowpost.tenant').where({ tenantid }).delete();
    }
  });

  it('finds a read-only storage', async () => {
    await writeFile(`${folder}/occupied`, '');
    const { of } = await diagnose({ STORAGE_URL: `file:${folder}/occupied` });
    expect(of('storage')).to.match(/^✗ storage .*\(E[A-Z]+\) → Check STORAGE_URL/);
  });

  it('finds a PostgreSQL that accepts no writes', async () => {
    const name = new URL(testDatabase.url).pathname.slice(1);
    const server = await testServer();
    await server.run(`alter database ${name} set default_transaction_read_only = on`);
    try {
      const { failed, of } = await diagnose();
      expect(failed).to.be.above(0);
      expect(of('postgres')).to.match(/^✗ postgres .*; it is read-only → It is a standby, or /);
    } finally {
      await server.run(`alter database ${name} reset default_transaction_read_only`);
    }
    expect((await diagnose()).of('postgres')).to.match(/^✓/);
  });

  it('finds a database that was never set up, or lacks privileges', async () => {
    const server = await testServer();
    const name = `rowpost_doctor_${process.pid}`;
    await server.run(`create database ${name}`);
    await server.run(`create role ${name} login password 'weak'`);
    try {
      const url = new URL(testDatabase.url);
      url.pathname = `/${name}`;
      const empty = await diagnose({ DATABASE_URL: url.href });
      expect(empty.of('migrations')).to.equal(
        '✗ migrations the database is not set up yet → Run "rowpost release".',
      );
      expect(empty.of('backlog')).to.match(/^✗/);
      Object.assign(url, { username: name, password: 'weak' });
      const weak = await diagnose({ DATABASE_URL: url.href });
      expect(weak.of('rights')).to.include(`alter role "${name}" createrole`);
    } finally {
      await server.dropDatabase(name);
      await server.run(`drop role ${name}`);
    }
  });

  it("finds a database whose encoding can't store every text", async () => {
    const server = await testServer();
    const name = `rowpost_latin_${process.pid}`;
    await server.run(
      `create database ${name} template template0 encoding 'LATIN1' locale_provider libc locale 'C'`,
    );
    try {
      const url = new URL(testDatabase.url);
      url.pathname = `/${name}`;
      expect((await diagnose({ DATABASE_URL: url.href })).of('rights')).to.match(/^✗.*LATIN1.*UTF8/);
    } finally {
      await server.dropDatabase(name);
    }
  });

  it('says whether autovacuum is on, and keeps up', async () => {
    expect((await diagnose()).of('autovacuum')).to.match(/^✓ autovacuum +the oldest .* are \d+% as old as/);
    const state = { isOn: true, transactions: 1, multixacts: 1, members: 0.5 };
    expect(assessVacuum(state).ok).to.equal(true);
    expect(assessVacuum({ ...state, isOn: false })).to.deep.include({ ok: false, says: 'it is off' });
    expect(assessVacuum({ ...state, members: 0.51 })).to.deep.include({
      ok: false,
      says: "shared locks of rows use about 51% of PostgreSQL's space for their ids",
    });
    for (const [late, what] of [
      [{ transactions: 2.01 }, 'transactions'],
      [{ multixacts: 2.01 }, 'shared locks of rows'],
    ] as const) {
      const finding = assessVacuum({ ...state, ...late });
      expect([finding.ok, finding.says]).to.deep.equal([
        false,
        `the oldest ${what} are 201% as old as when it freezes them`,
      ]);
    }
  });

  it('names secrets that the current keys do not decrypt, never their values', async () => {
    const { database } = testDatabase;
    const tenant = await createTenant(database);
    try {
      expect((await diagnose()).of('secrets')).to.match(/^✓ secrets +1 stored/);
      const { of } = await diagnose({
        SECRET_KEYS: `other:${Buffer.alloc(32, 9).toString('base64')}`,
      });
      expect(of('secrets')).to.include(
        `✗ secrets    1 of 1 don't decrypt: email API key of tenant ${tenant.tenantid} → `,
      );
      // Another tenant's ciphertext is as good as none.
      const stolen = keyRing.encrypt('SG.key', 'email_apikey:999');
      await knexOf(database)('rowpost.email_apikey').update({ apikey_encrypted: stolen });
      expect((await diagnose()).of('secrets'))
        .to.match(/^✗/)
        .and.not.include('SG.key');
    } finally {
      await knexOf(database)('rowpost.tenant').where({ tenantid: tenant.tenantid }).delete();
    }
  });

  describe('the backlog', () => {
    it('is reported per stage', async () => {
      const { database } = testDatabase;
      const tenant = await createTenant(database);
      await createRule(database, tenant);
      await writeEvents(database, tenant, 3);
      await database.pool.query(`update rowpost.outbox set time = now() - interval '2 minutes'`);
      await database.pool.query(
        `insert into rowpost.relay_batch (tenantid, eventids, mintime, maxtime, createtime)
         values ($1, '{1}', now() - interval '2 hours', now(), now())`,
        [tenant.tenantid],
      );
      await database.pool.query(
        `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, createtime,
           state, tracked, due, next_attempt)
         select $1, i, 1, 'welcome', 'insert', 'customer', '{}', 'at_least_once', now() - i * interval '10 seconds', state,
           tracked, due, next_attempt
         from (values (1, 'pending', false, null, null),
           (2, 'pending', true, now(), null),
           (3, 'sending', true, now(), null),
           (4, 'retrying', true, now() + interval '1 hour', now() + interval '1 hour'),
           (5, 'paused', true, null, null),
           (6, 'sent', true, null, null)) as d(i, state, tracked, due, next_attempt)`,
        [tenant.tenantid],
      );
      const backlog = await readBacklog(database.ledger);
      expect(backlog).to.include({ unreadEvents: 3, openBatches: 1, waiting: 3, later: 1, paused: 1 });
      expect(backlog.unreadSeconds).to.be.within(119, 150);
      expect(backlog.openBatchSeconds).to.be.within(7_199, 7_230);
      expect(backlog.waitingSeconds).to.be.within(29, 60);
      expect((await diagnose()).of('backlog')).to.match(
        /^✗ backlog +3 committed events are not read, the oldest for 2 min → Is a relay running\?/,
      );
    });

    it('is a problem when something has waited too long', () => {
      const idle = {
        unreadEvents: 0,
        unreadSeconds: null,
        openBatches: 0,
        openBatchSeconds: null,
        waiting: 0,
        waitingSeconds: null,
        retries: 0,
        retrySeconds: null,
        later: 0,
        paused: 0,
        loopsTripped: 0,
        tenants: [],
      };
      expect(assessBacklog(idle, 60).ok).to.equal(true);
      expect(assessBacklog({ ...idle, waiting: 5, waitingSeconds: 59, paused: 9 }, 60)).to.deep.equal({
        ok: true,
        says: '0 events, 0 batches and 5 deliveries wait, the oldest for 59 s; 0 for their next attempt, 9 paused',
      });
      expect(assessBacklog({ ...idle, waiting: 5, waitingSeconds: 61 }, 60).ok).to.equal(false);
      expect(assessBacklog({ ...idle, waiting: 5, waitingSeconds: 61 }, 600).ok).to.equal(true);
      expect(assessBacklog({ ...idle, waiting: 5, waitingSeconds: 9e9 }, 0).ok).to.equal(true);
      expect(assessBacklog({ ...idle, openBatches: 2, openBatchSeconds: 61 }, 60)).to.deep.include({
        ok: false,
        says: '2 batches of events wait, the oldest for 61 s',
      });
      expect(assessBacklog({ ...idle, openBatches: 1, openBatchSeconds: 7300 }, 60).says).to.include(
        'for 2 h',
      );
      expect(assessBacklog({ ...idle, retries: 1, retrySeconds: 61 }, 60).says).to.equal(
        '1 retries are due, the oldest for 61 s',
      );
      expect(assessBacklog({ ...idle, unreadEvents: 1, unreadSeconds: 61 }, 60).ok).to.equal(false);
    });
  });
});
