import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createServer, type AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import pg from 'pg';
import { KeyRing } from '../../../src/config/secrets.js';
import { SNS_CERTIFICATE, SNS_KEY } from '../../support/snsKey.js';
import { testServer } from '../../support/postgresServer.js';
import { startRedis } from '../../support/redisServer.js';
import { runRowpost } from '../../support/rowpostProcess.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

/** A start that can't succeed says why in one line, without a stack, and exits 1. */
describe('failing startup', () => {
  let testDatabase: TestDatabase;
  let emptyUrl: string;

  before(async () => {
    testDatabase = await createTestDatabase();
    const server = await testServer();
    const name = `rowpost_empty_${process.pid}`;
    await server.run(`create database ${name}`);
    emptyUrl = Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
  });
  after(async () => {
    await testDatabase.drop();
    await (await testServer()).run(`drop database rowpost_empty_${process.pid}`);
  });

  async function refusal(args: string[], env: Record<string, string>): Promise<string> {
    const { code, stderr } = await runRowpost(args, env);
    expect(code).to.equal(1);
    expect(stderr).to.not.match(/^\s+at /m);
    return stderr.trim();
  }

  it('names every problem of a production configuration at once', async () => {
    const said = await refusal(['web'], {
      NODE_ENV: 'production',
      SECRET_KEYS: '',
      BASE_URL: '',
      PG_POOL: 'many',
    });
    expect(said)
      .to.include('DATABASE_URL')
      .and.include('BASE_URL')
      .and.include('SECRET_KEYS')
      .and.include('MAIL_TRANSPORT')
      .and.include('STORAGE_URL')
      .and.include('PG_POOL');
  });

  it('when PostgreSQL is not responding to a command', async () => {
    const said = await refusal(['tenant', 'list'], {
      DATABASE_URL: 'postgres://rowpost:hidden-password@127.0.0.1:1/rowpost',
    });
    expect(said).to.include('PostgreSQL is not responding (ECONNREFUSED)').and.include('DATABASE_URL');
    expect(said).to.not.include('hidden-password');
  });

  it('when the password is wrong, or the database missing', async () => {
    const wrong = Object.assign(new URL(testDatabase.url), { password: 'wrong' }).href;
    expect(await refusal(['web'], { DATABASE_URL: wrong })).to.include('refuses the user or the password');
    const missing = Object.assign(new URL(testDatabase.url), { pathname: '/no_such_database' }).href;
    expect(await refusal(['web'], { DATABASE_URL: missing })).to.include('no such database');
  });

  it('when PostgreSQL offers no TLS, or with a certificate that is not accepted', async () => {
    const demanding = new URL(testDatabase.url);
    demanding.searchParams.set('sslmode', 'verify-full');
    expect(await refusal(['web'], { DATABASE_URL: demanding.href })).to.match(/offers no TLS.*DATABASE_URL/);
    const itself = { isServer: true, key: SNS_KEY, cert: SNS_CERTIFICATE };
    const server = createServer((socket) => {
      // In response to the request for TLS.
      socket.once('data', () => {
        socket.write('S');
        new TLSSocket(socket, itself).on('error', () => undefined);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    demanding.port = String((server.address() as AddressInfo).port);
    try {
      expect(await refusal(['web'], { DATABASE_URL: demanding.href })).to.match(
        /certificate is not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\): add sslrootcert/,
      );
    } finally {
      server.close();
    }
    demanding.searchParams.set('sslrootcert', '/nowhere/ca.crt');
    expect(await refusal(['web'], { DATABASE_URL: demanding.href })).to.include(
      'DATABASE_URL has sslrootcert=<file>, and the file can',
    );
  });

  it('when the database was never set up', async () => {
    for (const args of [['web'], ['relay'], ['worker'], ['tenant', 'list']]) {
      expect(await refusal(args, { DATABASE_URL: emptyUrl })).to.include('run "rowpost release" first');
    }
  });

  it('when the database role may not make roles', async () => {
    const admin = new pg.Client({ connectionString: emptyUrl });
    await admin.connect();
    const role = `rowpost_weak_${process.pid}`;
    await admin.query(`create role ${role} login password 'weak'`);
    try {
      const weak = Object.assign(new URL(emptyUrl), { username: role, password: 'weak' }).href;
      const said = await refusal(['release'], { DATABASE_URL: weak, PXADMIN_PASSWORD: 'pxadmin-password' });
      expect(said).to.include(`alter role "${role}" createrole`).and.include('grant create on database');
    } finally {
      await admin.query(`drop role ${role}`);
      await admin.end();
    }
  });

  it('when SECRET_KEYS does not decrypt the stored secrets', async () => {
    // Six processes start, one after the other.
    const env = { DATABASE_URL: testDatabase.url, PXADMIN_PASSWORD: 'pxadmin-password' };
    expect((await runRowpost(['release'], env)).code).to.equal(0);
    const holder = createServer().listen(0);
    await once(holder, 'listening');
    const taken = { ...env, PORT: String((holder.address() as AddressInfo).port) };
    // The first web process makes the signing key, and then finds its port taken.
    expect(await refusal(['web'], taken)).to.include('set PORT to another');
    holder.close();
    const other = { ...env, SECRET_KEYS: KeyRing.generateEntry('other') };
    for (const name of ['web', 'relay', 'worker', 'all'])
      expect(await refusal([name], other), name).to.include("can't be decrypted with SECRET_KEYS");
  });

  it('when Redis refuses the password', async () => {
    const redis = await startRedis();
    const admin = new Redis(redis.url);
    await admin.config('SET', 'requirepass', 'right');
    const address = Object.assign(new URL(redis.url), { password: 'wrong' }).href;
    try {
      for (const part of ['relay', 'worker']) {
        const said = await refusal([part], { DATABASE_URL: testDatabase.url, REDIS_URL: address });
        expect(said).to.include('REDIS_URL').and.include('WRONGPASS');
      }
    } finally {
      admin.disconnect();
      await redis.stop();
    }
  });

  it('when Redis is a node of a cluster', async () => {
    const node = await startRedis(undefined, {
      'cluster-enabled': 'yes',
      'cluster-config-file': `nodes-${process.pid}.conf`,
      databases: '1',
    });
    try {
      for (const part of ['relay', 'worker']) {
        const said = await refusal([part], { DATABASE_URL: testDatabase.url, REDIS_URL: node.url });
        expect(said)
          .to.include('REDIS_URL leads to a node of a Redis Cluster')
          .and.include('redis+cluster://');
      }
    } finally {
      await node.stop();
      await rm(path.join(os.tmpdir(), `nodes-${process.pid}.conf`), { force: true });
    }
  });

  it('when a command or an option is unknown', async () => {
    expect(await refusal(['wbe'], {})).to.include('unknown command "wbe"');
    expect(await refusal(['tenant', 'create', '--nam', 'x'], {})).to.include("'--nam'");
    expect(await refusal(['tenant', 'create', '--name', 'x'], {})).to.include('--root-login is missing');
  });
});
