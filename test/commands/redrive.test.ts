import { expect } from 'chai';
import { redrive } from '../../src/commands/redrive.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { UsageError, type AppError } from '../../src/foundation/errors.js';
import { capturedOutput } from '../support/capturedOutput.js';
import { runRowpost } from '../support/rowpostProcess.js';
import { testEnv } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

describe('rowpost redrive', () => {
  let testDatabase: TestDatabase;
  let tenantid: number;
  let other: number;
  let environment: NodeJS.ProcessEnv;

  before(async () => {
    testDatabase = await createTestDatabase();
    const { pool } = testDatabase.database;
    const make = async (name: string): Promise<number> =>
      (await createTestTenant(pool, { name, rootLogin: 'root', rootPassword: 'correct horse' })).tenantid;
    [tenantid, other] = [await make('shop'), await make('other')];
    environment = { ...process.env };
    Object.assign(process.env, testEnv({ DATABASE_URL: testDatabase.url }));
  });
  beforeEach(() => testDatabase.database.pool.query('delete from rowpost.delivery'));
  after(async () => {
    process.env = environment;
    await testDatabase.drop();
  });

  async function insert(
    states: readonly string[],
    emailType = 'welcome',
    tenant = tenantid,
  ): Promise<readonly string[]> {
    const { rows } = await testDatabase.database.pool.query<{ deliveryid: string }>(
      `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, state,
         tracked, createtime)
       select $1, i, 1, $3, 'insert', 'customer', '{}', 'at_least_once', state, true, clock_timestamp()
       from unnest($2::text[]) with ordinality as s(state, i) returning deliveryid::text as deliveryid`,
      [tenant, states, emailType],
    );
    return rows.map((row) => row.deliveryid);
  }
  const states = async (): Promise<readonly string[]> => {
    const { rows } = await testDatabase.database.pool.query<{ state: string }>(
      'select state from rowpost.delivery order by deliveryid',
    );
    return rows.map((row) => row.state);
  };
  const run = async (...args: string[]): Promise<unknown> =>
    JSON.parse(await capturedOutput(() => redrive(args)));
  const refusal = (...args: string[]): Promise<unknown> =>
    redrive(args).then(
      () => 'nothing was refused',
      (error: unknown) => error,
    );

  it('redrives one delivery, whatever its final state, and records it', async () => {
    const [, sent] = await insert(['failed', 'sent']);
    expect(await run('--tenant', String(tenantid), '--delivery', sent!)).to.deep.equal({
      tenantid,
      redriven: 1,
    });
    expect(await states()).to.deep.equal(['failed', 'pending']);
    const { rows } = await testDatabase.database.pool.query(
      'select outcome, error from rowpost.email_attempt',
    );
    expect(rows).to.deep.equal([{ outcome: 'redriven', error: 'was sent' }]);
  });

  it('redrives all deliveries matching a filter except sent ones', async () => {
    await insert(['failed', 'sent', 'skipped', 'unknown', 'pending', 'paused']);
    await insert(['failed'], 'another');
    await insert(['failed'], 'welcome', other);
    expect(await run('--tenant', String(tenantid), '--filter', "email_type = 'welcome'")).to.deep.equal({
      tenantid,
      redriven: 3,
    });
    expect(await states()).to.deep.equal([
      'pending',
      'sent',
      'pending',
      'pending',
      'pending',
      'paused',
      'failed',
      'failed',
    ]);
  });

  it('redrives more than one page', async () => {
    await insert(Array.from({ length: 1_001 }, () => 'failed'));
    expect(await run('--tenant', String(tenantid), '--filter', '')).to.deep.equal({
      tenantid,
      redriven: 1_001,
    });
    expect(new Set(await states())).to.deep.equal(new Set(['pending']));
  });

  it('resumes the paused deliveries of one tenant or all, whose accounts the carrier accepts again', async () => {
    const { pool } = testDatabase.database;
    const pause = async (): Promise<void> => {
      await pool.query('delete from rowpost.delivery');
      await pool.query(
        `insert into rowpost.email_apikey (tenantid, apikey_encrypted, set_by, paused_code, paused_reason)
         select tenantid, 'x', roleid, 'APIKEY_REFUSED', 'no' from rowpost.role where tenantid = any($1) and login = 'root'
         on conflict (tenantid) do update set paused_code = excluded.paused_code`,
        [[tenantid, other]],
      );
      await insert(['paused', 'paused', 'failed']);
      await insert(['paused'], 'welcome', other);
    };
    const resumed = async (whose: string): Promise<unknown> => {
      const lines = (await capturedOutput(() => redrive(['--paused', whose]))).trim().split('\n');
      return lines.filter(Boolean).map((line) => JSON.parse(line) as unknown);
    };
    await pause();
    expect(await resumed(String(tenantid))).to.deep.equal([{ tenantid, resumed: 2 }]);
    expect(await states()).to.deep.equal(['pending', 'pending', 'failed', 'paused']);
    expect(await refusal('--paused', String(tenantid)))
      .to.have.property('message')
      .that.contains('not paused');
    await pause();
    expect(await resumed('all')).to.deep.equal([
      { tenantid, resumed: 2 },
      { tenantid: other, resumed: 1 },
    ]);
    expect(await states()).to.deep.equal(['pending', 'pending', 'failed', 'pending']);
  });

  it("ignores other tenants' deliveries, and open ones", async () => {
    const [theirs] = await insert(['failed'], 'welcome', other);
    const [open] = await insert(['sending']);
    const code = async (deliveryid: string): Promise<unknown> =>
      ((await refusal('--tenant', String(tenantid), '--delivery', deliveryid)) as AppError).code;
    expect(await code(theirs!)).to.equal('NOT_FOUND');
    expect(await code(open!)).to.equal('REDRIVE_NOT_ALLOWED');
    expect(await states()).to.deep.equal(['failed', 'sending']);
  });

  it('rejects invalid arguments', async () => {
    for (const args of [
      [],
      ['--tenant', '1'],
      ['--tenant', 'x', '--filter', ''],
      ['--tenant', '99999999999', '--filter', ''],
      ['--tenant', '1', '--delivery', 'x'],
      ['--tenant', '1', '--delivery', '1', '--filter', ''],
      ['--everything'],
      ['--paused', 'x'],
      ['--paused', 'all', '--tenant', '1'],
    ]) {
      expect(await refusal(...args), args.join(' ')).to.be.instanceOf(UsageError);
    }
    const bad = await refusal('--tenant', String(tenantid), '--filter', 'nonsense = 1');
    expect((bad as AppError).code).to.equal('FILTER_UNKNOWN_COLUMN');
    const unknown = await refusal('--tenant', '999999', '--filter', '');
    expect((unknown as AppError).code).to.equal('TENANT_NOT_FOUND');
  });

  it('is a command that exits 1 with one clear line', async () => {
    const { code, stderr } = await runRowpost(['redrive', '--tenant', '1'], {});
    expect(code).to.equal(1);
    expect(stderr).to.match(/^rowpost: give --delivery or --filter\nUsage:/);
  });
});
