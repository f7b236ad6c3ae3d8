import { once } from 'node:events';
import { expect } from 'chai';
import { openDatabase, type Database } from '../../../../src/db/pool/database.js';
import { preparedText } from '../../../../src/db/pool/preparedStatements.js';
import type { TransactionOutcome } from '../../../../src/db/pool/transactions.js';
import { listenForWakeups } from '../../../../src/db/pool/wakeup.js';
import { startReplicatedPostgres, type ReplicatedPostgres } from '../../../support/replicatedPostgres.js';
import { TEST_BUDGET, testKeyRing, testLog } from '../../../support/testConfig.js';
import { waitFor } from '../../../support/waitFor.js';
import { formatted } from '../../../../src/db/sql/sql.js';

describe('connections to a primary that is replaced', () => {
  let postgres: ReplicatedPostgres;
  let database: Database;

  const open = (url: string): Database =>
    openDatabase({
      url,
      budget: TEST_BUDGET,
      keyRing: testKeyRing,
      statementTimeoutMs: 5_000,
      lockTimeoutMs: 1_000,
      poolTimeoutMs: 5_000,
      applicationName: 'rowpost test',
      log: testLog,
    });

  before(async () => {
    postgres = await startReplicatedPostgres();
    database = open(postgres.url());
    await database.pool.query('create table public.note (id int primary key)');
    await database.pool.query(`create schema rowpost;
      create function rowpost.listen_to(channel text) returns void language plpgsql as $$ begin execute format('listen %I', channel); end $$;
      create function rowpost.notify(channel text, payload text) returns void language sql as $$ select pg_notify(channel, payload) $$`);
  });
  after(async () => {
    await database.close();
    await postgres.stop();
  });

  const write = (id: number): Promise<TransactionOutcome> =>
    database.transactions.run({
      tenantid: null,
      mode: 'write',
      statements: [
        { statement: preparedText(formatted(`insert into public.note values (${id})`)), values: [] },
      ],
    });
  const portOf = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ port: string }>(`select current_setting('port') as port`);
    return Number(rows[0]?.port);
  };

  it('go to the server that accepts writes, whichever comes first in the URL', async () => {
    expect(await portOf()).to.equal(postgres.primary.port);
    const { standby } = postgres;
    const reversed = open(
      postgres.url().replace(/127[^/]+/, `127.0.0.1:${standby!.port},127.0.0.1:${postgres.primary.port}`),
    );
    try {
      await reversed.pool.query('select pg_current_xact_id()');
    } finally {
      await reversed.close();
    }
  });

  it('fail if a standby is the only host', async () => {
    const alone = open(postgres.url().replace(/127[^/]+/, `127.0.0.1:${postgres.standby!.port}`));
    try {
      const error = await alone.pool.query('select').catch((caught: unknown) => caught);
      expect(error).to.have.property('code', 'NO_PRIMARY');
    } finally {
      await alone.close();
    }
  });

  it('move to the next primary when theirs is killed, waiting for the promotion', async () => {
    let wakeups = 0;
    const listening = listenForWakeups({ database, log: testLog }, () => (wakeups += 1));
    await waitFor('the listener', () => wakeups > 0);
    expect((await write(1)).kind).to.equal('done');
    await postgres.stopPrimary('SIGQUIT');
    const early = write(2);
    await postgres.promote();
    const outcome = await early;
    expect(
      outcome.kind === 'done' || ['DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN'].includes(outcome.error.code),
    ).to.equal(true);
    await waitFor('a write on the next primary', async () => (await write(3)).kind === 'done');
    expect(await portOf()).to.equal(postgres.primary.port);
    const { rows } = await database.pool.query<{ id: number }>(
      'select id from public.note where id in (1, 3) order by id',
    );
    expect(rows.map(({ id }) => id)).to.deep.equal([1, 3]);
    const before = wakeups;
    await waitFor('the listener on the next primary', async () => {
      await database.pool.query(`select rowpost.notify('rowpost_relay', '')`);
      return wakeups > before + 1;
    });
    await listening.stop();
    await postgres.addStandby();
  });

  it('are broken when their server hangs and another was promoted', async () => {
    expect((await write(10)).kind).to.equal('done');
    const holder = database.pool.query('select pg_sleep(60)').catch((error: unknown) => error);
    await postgres.pausePrimary();
    const stuck = write(11);
    await postgres.promote();
    const outcome = await stuck;
    expect(outcome.kind === 'failed' && outcome.error.code).to.be.oneOf([
      'OUTCOME_UNKNOWN',
      'DATABASE_UNAVAILABLE',
    ]);
    expect(await holder).to.be.an('error');
    await waitFor('a write on the next primary', async () => (await write(12)).kind === 'done');
    // The one before is back, and still thinks itself the primary.
    await postgres.resumeOld();
    const fresh = open(postgres.url());
    try {
      const { rows } = await fresh.pool.query<{ port: string }>(`select current_setting('port') as port`);
      expect(Number(rows[0]?.port)).to.equal(postgres.primary.port);
    } finally {
      await fresh.close();
    }
    await postgres.addStandby();
  });

  it('are closed when their server becomes read-only, and refuse writes with 503 meanwhile', async () => {
    await postgres.configure('default_transaction_read_only', 'on');
    const refused = await waitFor('a write refused', async () => {
      const outcome = await write(20 + Math.floor(Math.random() * 1e6));
      return outcome.kind === 'failed' ? outcome.error : undefined;
    });
    expect(refused.code).to.equal('DATABASE_UNAVAILABLE');
    expect(refused.retryAfterSeconds).to.equal(1);
    const client = await database.pool.connect();
    const ended = once(client as unknown as NodeJS.EventEmitter, 'end');
    const error = await client.query('delete from public.note').catch((caught: unknown) => caught);
    client.release();
    expect(error).to.have.property('code', '25006');
    await ended;
    expect((await database.pool.query('select 1 as one')).rows).to.deep.equal([{ one: 1 }]);
    await postgres.configure('default_transaction_read_only', null);
    await waitFor('a write', async () => (await write(2_000_000)).kind === 'done');
  });
});
