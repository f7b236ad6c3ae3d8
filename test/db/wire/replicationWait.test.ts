import { expect } from 'chai';
import pg from 'pg';
import { openDatabase, type Database } from '../../../src/db/pool/database.js';
import { preparedText } from '../../../src/db/pool/preparedStatements.js';
import type { TransactionOutcome, TransactionStatement } from '../../../src/db/pool/transactions.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../src/embedded/postgres.js';
import { copyPreparedCluster, throwawayDataDir } from '../../support/preparedCluster.js';
import { TEST_BUDGET, testKeyRing, testLog } from '../../support/testConfig.js';
import { waitFor } from '../../support/waitFor.js';
import { fixed } from '../../../src/db/sql/sql.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

describe('a commit whose synchronous standby does not respond', () => {
  let server: EmbeddedPostgres;
  let database: Database;
  let operator: pg.Client;

  const open = (requestTimeoutMs: number): Database =>
    openDatabase({
      url: server.url,
      budget: TEST_BUDGET,
      keyRing: testKeyRing,
      statementTimeoutMs: 500,
      requestTimeoutMs,
      lockTimeoutMs: 500,
      poolTimeoutMs: 5_000,
      applicationName: 'rowpost test',
      log: testLog,
    });

  before(async () => {
    const dataDir = await throwawayDataDir();
    await copyPreparedCluster(dataDir, 18, undefined);
    server = await startEmbeddedPostgres({
      dataDir,
      throwaway: true,
      settings: [
        'wal_level=replica',
        'max_wal_senders=2',
        'synchronous_commit=on',
        'synchronous_standby_names=absent',
      ],
      say: () => undefined,
    });
    operator = new pg.Client({ connectionString: server.url });
    await operator.connect();
    await operator.query('set synchronous_commit = local');
    await operator.query('create table public.note (id int primary key)');
    database = open(60_000);
  });
  after(async () => {
    await database.close();
    await operator.end();
    await server.stop();
  });

  /** Ends the waits one after the other, until the work has ended. */
  const canceling = async <T>(work: Promise<T>): Promise<PromiseSettledResult<T>> => {
    let isOver = false;
    const settled = Promise.allSettled([work]).then(([result]) => {
      isOver = true;
      return result;
    });
    await waitFor('the end of the wait', async () => {
      await operator.query(
        `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
      );
      return isOver;
    });
    return settled;
  };
  const insertion = (id: number): TransactionStatement => ({
    statement: preparedText('insert into public.note values ($1::int4)'),
    values: [id],
  });
  const write = (id: number, from = database): Promise<TransactionOutcome> =>
    from.transactions.run({ tenantid: null, mode: 'write', statements: [insertion(id)] });
  /** Not at once: PostgreSQL says that the wait was canceled before it shows the row. */
  const isThere = async (id: number): Promise<boolean> =>
    (await operator.query('select from public.note where id = $1', [id])).rows.length === 1;
  const messageOf = ({ reason }: { reason?: unknown }): string =>
    (reason as Error | undefined)?.message ?? '';

  it('has an unknown outcome when the wait is canceled', async () => {
    const { value: outcome } = (await canceling(write(2))) as { value?: TransactionOutcome };
    expect(outcome).to.have.nested.property('error.code', 'OUTCOME_UNKNOWN');
    await waitFor('the row', () => isThere(2));
  });

  it('has an unknown outcome when the request times out', async () => {
    // Long enough for a busy machine to connect and reach the commit.
    const hasty = open(1_500);
    try {
      expect(await write(3, hasty)).to.have.nested.property('error.code', 'OUTCOME_UNKNOWN');
      await waitFor('the row', () => isThere(3));
    } finally {
      await hasty.close();
    }
  });

  it('fails in the ledger, so that no email is sent for a start that may be lost', async () => {
    const { ledger } = database;
    const insert = { name: 'insert_note', text: fixed('insert into public.note values ($1) returning id') };
    for (const [id, work] of [
      [4, () => ledger.query(insert, [4])],
      [5, () => ledger.transaction([[insert, [5]]])],
    ] as const) {
      const result = await canceling<unknown>(work());
      expect(result.status).to.equal('rejected');
      expect(messageOf(result as { reason?: unknown })).to.contain('synchronous standby');
      await waitFor('the row', () => isThere(id));
    }
  });

  it('fails in a transaction, as the control objects use', async () => {
    const result = await canceling(
      inTransaction(database.pool, (client) => client.query('insert into public.note values (6)')),
    );
    expect(result.status).to.equal('rejected');
  });

  it('leaves the process with working connections', async () => {
    const setLocal = preparedText("select set_config('synchronous_commit', 'local', true)");
    const statements = [{ statement: setLocal, values: [] }, insertion(10)];
    const outcome = await database.transactions.run({ tenantid: null, mode: 'write', statements });
    expect(outcome.kind).to.equal('done');
    expect(await database.ledger.query({ text: fixed('select 1 as one') }, [])).to.deep.equal([{ one: 1 }]);
    expect((await database.pool.query('select 1 as one')).rows).to.deep.equal([{ one: 1 }]);
  });
});
