import { UnidentifiedTurns } from '../../../src/api/http/unidentifiedTurns.js';
import { expect } from 'chai';
import type { Request } from 'express';
import { SignInLimits } from '../../../src/api/auth/signInLimits.js';
import { removeSignInCounts } from '../../../src/db/roles/signIn/signInCounts.js';
import { AppError } from '../../../src/foundation/errors.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture, type WebFixtureOptions } from '../../api/webFixture.js';
import { testConfig, testLog } from '../../support/testConfig.js';
import { knexOf } from '../../support/knexOf.js';

describe('attack: sign-in limits as a weapon', () => {
  let fixture: WebFixture;
  let tenantid: number;
  const start = async (options: WebFixtureOptions = {}): Promise<void> => {
    fixture = await WebFixture.start({ ...options, env: { TRUST_PROXY: '1', ...options.env } });
    ({ tenantid } = await fixture.createTenant('shop'));
  };
  afterEach(() => fixture.stop());

  const attempt = async (address: string, login: string, password: string): Promise<number> =>
    (await fixture.postJson('/auth', { tenantid, login, password }, { 'x-forwarded-for': address })).status;
  const counts = async (): Promise<readonly { key: Buffer; count: number }[]> =>
    knexOf(fixture.testDatabase.database)('rowpost.sign_in_count').select('key', 'count');

  it('lets the legitimate user in after 60 wrong guesses from one address', async () => {
    await start();
    const guesses = await Promise.all(
      Array.from({ length: 60 }, () => attempt('192.0.2.1', ROOT_LOGIN, 'a wrong guess')),
    );
    expect(guesses.filter((status) => status === 401)).to.have.length(50);
    expect(guesses.filter((status) => status === 429)).to.have.length(10);
    expect(await attempt('192.0.2.1', ROOT_LOGIN, ROOT_PASSWORD)).to.equal(429);
    expect(await attempt('192.0.2.2', ROOT_LOGIN, ROOT_PASSWORD)).to.equal(200);
  });

  it('reads nothing from PostgreSQL for the 601st view of a sign-in page within a minute', async () => {
    await start({ env: { SIGN_INS_PER_ADDRESS: '3' } });
    const view = async (path: string, address: string): Promise<number> => {
      const response = await fixture.fetch(path, {
        headers: { accept: 'text/html', 'x-forwarded-for': address },
      });
      await response.text();
      return response.status;
    };
    for (const path of ['/console/sign-in?tenant=shop', `/signin?tenantid=${tenantid}`, '/signin']) {
      expect(await view(path, '192.0.2.1')).to.equal(200);
    }
    expect(await view('/console/sign-in?tenant=shop', '192.0.2.1')).to.equal(429);
    expect(await view(`/signin?tenantid=${tenantid}`, '192.0.2.1')).to.equal(429);
    expect(await view('/signin', '192.0.2.2')).to.equal(200);
    // Attempts are counted apart from views.
    expect(await attempt('192.0.2.1', ROOT_LOGIN, ROOT_PASSWORD)).to.equal(200);
  });

  it('counts an IPv6 site as one address', async () => {
    await start({ env: { SIGN_IN_FAILURES_PER_LOGIN: '2' } });
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:9::1']) {
      expect(await attempt(address, ROOT_LOGIN, 'a wrong guess')).to.equal(401);
    }
    expect(await attempt('2001:db8:1:2:ffff::1', ROOT_LOGIN, 'a wrong guess')).to.equal(429);
    expect(await attempt('2001:db8:1:3::1', ROOT_LOGIN, ROOT_PASSWORD)).to.equal(200);
  });

  it('stores nothing whose size a client controls', async () => {
    await start();
    const long = 'x'.repeat(20_000);
    expect(await attempt('192.0.2.1', long, 'any password')).to.equal(400);
    expect(await attempt('192.0.2.1', ROOT_LOGIN, long)).to.equal(400);
    expect(await attempt('192.0.2.1', 'x'.repeat(1_000), 'any password')).to.equal(401);
    const rows = await counts();
    expect(rows.map(({ key }) => key.length)).to.deep.equal(rows.map(() => 32));
    expect(rows).to.have.length(3);
  });

  it('keeps a bounded number of counts', async () => {
    await start();
    const { pool } = fixture.testDatabase.database;
    const knex = knexOf(fixture.testDatabase.database);
    await knex.raw(`insert into rowpost.sign_in_count
      select sha256(i::text::bytea), 1, now() + make_interval(secs => i) from generate_series(-10, 100) i`);
    await removeSignInCounts(pool, 40);
    const left = await knex('rowpost.sign_in_count').select<{ later: boolean }[]>(
      knex.raw(`expires > now() + interval '50 s' as later`),
    );
    expect(left.map(({ later }) => later)).to.deep.equal(Array<boolean>(40).fill(true));
  });

  describe('from many addresses', () => {
    const waits: number[] = [];
    const wait = (ms: number): Promise<void> => {
      waits.push(ms);
      return Promise.resolve();
    };
    const refused = (): Promise<never> => Promise.reject(new AppError('LOGIN_FAILED', 'Login failed.'));
    const from = (number: number): Request =>
      ({ socket: { remoteAddress: `192.0.2.${number}` }, headers: {} }) as unknown as Request;
    /** As two web processes have them. */
    const openLimits = (): SignInLimits => {
      const config = testConfig({ SIGN_IN_FAILURES_BEFORE_DELAY: '4', SIGN_IN_FAILURES_PER_LOGIN: '2' });
      return new SignInLimits({
        signInEvents: { note: () => undefined },
        turns: new UnidentifiedTurns(fixture.testDatabase.database.pool, config),
        database: fixture.testDatabase.database,
        log: testLog,
        config,
        wait,
      });
    };
    const credentials = { tenantid: 1, login: 'ada', password: 'any' };

    it('slows a login but never locks it, counted across all processes', async () => {
      await start();
      waits.length = 0;
      const processes = [openLimits(), openLimits()];
      for (let number = 0; number < 8; number += 1) {
        const limits = processes[number % 2]!;
        await limits.byLogin(from(number), credentials, refused).catch((error: unknown) => {
          expect(error).to.include({ code: 'LOGIN_FAILED' });
        });
      }
      expect(waits).to.deep.equal([50, 100, 150, 200]);
      const signedIn = await processes[0]!.byLogin(from(99), credentials, () => Promise.resolve('in'));
      expect(signedIn).to.equal('in');
      expect(waits.at(-1)).to.equal(250);
      await openLimits().byLogin(from(99), { ...credentials, login: 'bob' }, () => Promise.resolve());
      expect(waits).to.have.length(5);
    });

    it("can't be slowed by a single address", async () => {
      await start();
      waits.length = 0;
      const limits = openLimits();
      for (let times = 0; times < 20; times += 1) {
        await limits.byLogin(from(1), credentials, refused).catch(() => undefined);
      }
      await limits.byLogin(from(2), credentials, () => Promise.resolve());
      expect(waits).to.deep.equal([]);
    });
  });
});
