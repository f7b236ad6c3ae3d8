import { expect } from 'chai';
import pg from 'pg';
import { AnswerBudget } from '../../../src/db/answerBudget.js';
import type { Lease } from '../../../src/db/connection/connectionPool.js';
import { preparedText, type PreparedText } from '../../../src/db/connection/preparedStatements.js';
import { Transactions, type TransactionOutcome } from '../../../src/db/connection/transactions.js';
import { waitFor } from '../../support/waitFor.js';
import { openShop, roleWith, SHOP_DDL, type Shop } from '../../graphql/support/shop.js';

describe('transactions', () => {
  let shop: Shop;
  before(
    async () =>
      (shop = await openShop(SHOP_DDL, {
        PG_POOL: '7',
        TENANT_CONCURRENCY: '2',
        PG_CONNECT_TIMEOUT_MS: '400',
      })),
  );
  after(() => shop.close());

  const run = (mode: 'read' | 'write', ...texts: string[]): Promise<TransactionOutcome> =>
    shop.test.database.transactions.run({
      tenantid: null,
      mode,
      statements: texts.map((text) => ({ statement: preparedText(text), values: [] })),
    });
  const codeOf = (outcome: TransactionOutcome): string =>
    outcome.kind === 'failed' ? outcome.error.code : 'done';

  it('report the first error and its statement', async () => {
    const outcome = await run('write', 'select 1::text', 'select (1 / 0)::text', 'select 2::text');
    expect(outcome).to.include({ kind: 'failed', statement: 1 });
    expect(codeOf(outcome)).to.equal('BAD_USER_INPUT');
    expect(codeOf(await run('read', 'select 1::text'))).to.equal('done');
  });

  it('end in OUTCOME_UNKNOWN when the connection breaks while a commit may be under way', async () => {
    const breaking = 'select pg_terminate_backend(pg_backend_pid())::text';
    const { tenants, transactions } = shop.test.database;
    const leases: Lease[] = [];
    const acquire = tenants.acquire.bind(tenants);
    tenants.acquire = async (...args) => {
      const lease = await acquire(...args);
      leases.push(lease);
      return lease;
    };
    const slow = transactions.run({
      tenantid: null,
      mode: 'write',
      statements: [{ statement: preparedText('select pg_sleep(20)::text /* to be cut */'), values: [] }],
    });
    const other = new pg.Client({ connectionString: shop.test.url });
    await other.connect();
    try {
      const pid = await waitFor('the slow statement', async () => {
        const { rows } = await other.query<{ pid: number }>(
          "select pid from pg_stat_activity where query like '%to be cut%' and pid <> pg_backend_pid() and state = 'active'",
        );
        return rows[0]?.pid;
      });
      // A connection that ends without a word from the server, as a broken network does.
      const backends = leases.map(
        ({ client }) =>
          client as unknown as { processID: number; connection: { stream: { destroy(): void } } },
      );
      backends.find(({ processID }) => processID === pid)!.connection.stream.destroy();
      expect(codeOf(await slow)).to.equal('OUTCOME_UNKNOWN');
      await other.query('select pg_terminate_backend($1)', [pid]);
    } finally {
      tenants.acquire = acquire;
      await other.end();
    }
    // The server's own word that it ended the session says that nothing was committed.
    expect(codeOf(await run('write', breaking))).to.equal('DATABASE_UNAVAILABLE');
    expect(codeOf(await run('read', breaking))).to.equal('DATABASE_UNAVAILABLE');
    expect(codeOf(await run('read', 'select 1::text'))).to.equal('done');
  });

  it('survive more hot statements than a connection keeps', async () => {
    const transactions = shop.test.database.transactions;
    const statements = Array.from({ length: 150 }, (_, i) => ({
      statement: preparedText(`select '${i}'`),
      values: [],
    }));
    for (let round = 0; round < 7; round++) {
      for (const [index, statement] of statements.entries()) {
        const outcome = await transactions.run({ tenantid: null, mode: 'read', statements: [statement] });
        expect(outcome).to.deep.equal({ kind: 'done', results: [[[String(index)]]] });
      }
    }
  });

  it('end a statement that takes too long', async () => {
    const transactions = shop.test.database.transactions;
    const outcome = await transactions.run({
      tenantid: null,
      mode: 'read',
      statements: [
        { statement: preparedText("select set_config('statement_timeout', '20', true)"), values: [] },
        { statement: preparedText('select pg_sleep(5)::text'), values: [] },
      ],
    });
    expect(codeOf(outcome)).to.equal('STATEMENT_TIMEOUT');
  });

  describe('that are short and of one role', () => {
    const hot = async (text: string): Promise<PreparedText> => {
      const statement = preparedText(text);
      for (let n = 0; n < 10; n++) await read(statement);
      // However slow this machine is at the moment.
      statement.quickestMs = 0;
      return statement;
    };
    const read = (statement: PreparedText, values: unknown[] = []): Promise<TransactionOutcome> =>
      shop.test.database.transactions.run({
        tenantid: null,
        mode: 'read',
        statements: [{ statement, values }],
      });
    const texts = (outcomes: readonly TransactionOutcome[]): unknown[] =>
      outcomes.map((outcome) => (outcome.kind === 'done' ? outcome.results[0]?.[0]?.[0] : codeOf(outcome)));

    it('share a few connections, each getting its own rows', async () => {
      const statement = await hot(
        "select pg_backend_pid() || ' ' || coalesce(current_setting('transaction_read_only'), '')",
      );
      const seen = texts(await Promise.all(Array.from({ length: 40 }, () => read(statement)))) as string[];
      expect(seen.every((text) => text.endsWith(' on'))).to.equal(true);
      expect(new Set(seen).size).to.be.at.most(4);
    });

    it('share transactions', async () => {
      const statement = await hot("select extract(epoch from now())::text || ' ' || pg_backend_pid()");
      const seen = texts(await Promise.all(Array.from({ length: 32 }, () => read(statement))));
      expect(new Set(seen).size).to.equal(4);
    });

    it('are refused alone when their answer is too large', async () => {
      const answers = new AnswerBudget({ requestBytes: 1_000, processBytes: 1_000_000 });
      const statement = await hot("select repeat('x', coalesce($1::int, 0))");
      const sizes = Array.from({ length: 32 }, (_, n) => (n % 3 === 0 ? 2_000 : 10));
      const outcomes = await Promise.all(
        sizes.map(async (size) => {
          const answer = answers.open(1);
          const outcome = await shop.test.database.transactions.run({
            tenantid: null,
            mode: 'read',
            statements: [{ statement, values: [size] }],
            answer,
          });
          answer.release();
          return outcome;
        }),
      );
      expect(texts(outcomes)).to.deep.equal(
        sizes.map((size) => (size > 1_000 ? 'DOCUMENT_TOO_COMPLEX' : 'x'.repeat(size))),
      );
      expect(answers.heldBytes).to.equal(0);
    });

    it('fail alone, even ahead of others on their connection', async () => {
      const divide = await hot('select (10 / coalesce(nullif($1::int4, -1), 1))::text');
      const given = Array.from({ length: 30 }, (_, n) => n % 5);
      const seen = texts(await Promise.all(given.map((n) => read(divide, [n]))));
      expect(seen).to.deep.equal(given.map((n) => (n === 0 ? 'BAD_USER_INPUT' : String(Math.trunc(10 / n)))));
    });

    it('survive the loss of their shared connection', async () => {
      const statement = await hot(
        "select case when $1::bool then pg_terminate_backend(pg_backend_pid())::text else 'fine' end",
      );
      const seen = texts(await Promise.all(Array.from({ length: 12 }, (_, n) => read(statement, [n === 5]))));
      expect(seen).to.include('DATABASE_UNAVAILABLE');
      expect(new Set(seen)).to.deep.equal(new Set(['fine', 'DATABASE_UNAVAILABLE']));
      expect(texts([await read(statement, [false])])).to.deep.equal(['fine']);
    });
  });

  it('time out as a whole, however short each statement is', async () => {
    const { pool, createClient, tenants } = shop.test.database;
    const brief = new Transactions(tenants, {
      timeoutMs: 300,
      canceler: { createClientBeside: createClient, requestCancel: () => Promise.resolve(), isPooled: false },
      preparedStatements: true,
    });
    const nap = { statement: preparedText('select pg_sleep(0.06)::text'), values: [] };
    const change = preparedText(
      `insert into ${shop.tenant.schema}.customer (name) values ('too late') returning '1'`,
    );
    const statements = [{ statement: change, values: [] }, ...Array.from({ length: 40 }, () => nap)];
    for (const mode of ['read', 'write'] as const) {
      const startedAt = performance.now();
      const outcome = await brief.run({
        tenantid: null,
        mode,
        statements: mode === 'write' ? statements : statements.slice(1),
      });
      expect(codeOf(outcome)).to.equal('REQUEST_TIMEOUT');
      expect(performance.now() - startedAt).to.be.below(2_000);
    }
    const { rows } = await pool.query(`select from ${shop.tenant.schema}.customer where name = 'too late'`);
    expect(rows).to.have.length(0);
    expect(codeOf(await brief.run({ tenantid: null, mode: 'read', statements: [nap] }))).to.equal('done');
  });

  it('let no tenant exhaust the pool: the rest waits, then gets 503', async () => {
    const lock = await shop.test.database.pool.connect();
    try {
      await lock.query(`begin; lock table ${shop.tenant.schema}.customer in access exclusive mode`);
      // three run (three quarters of four connections), two wait, the sixth is refused at once
      const asked = Array.from({ length: 5 }, () => shop.ask('{ customer { name } }'));
      await waitFor('three blocked statements', async () => {
        const { rows } = await shop.test.database.pool.query<{ n: string }>(
          "select count(*) as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return rows[0]!.n === '3';
      });
      const sixth = await shop.engine.execute(
        shop.root,
        { query: '{ customer { name } }' },
        { allowMutation: false },
      );
      expect(sixth.status).to.equal(503);
      expect(sixth.retryAfterSeconds).to.equal(1);
      expect(JSON.parse(sixth.body)).to.have.nested.property('errors[0].extensions.code', 'TOO_BUSY');
      // another tenant's role is not held up by this one's line
      const neighbour = { ...roleWith(shop, []), tenantid: shop.tenant.tenantid + 1000, schema: 'nowhere' };
      const other = await shop.engine.execute(
        neighbour,
        { query: '{ __typename }' },
        { allowMutation: false },
      );
      expect(other.status).to.equal(200);
      await lock.query('rollback');
      const replies = await Promise.all(asked);
      const statuses = replies.map((reply) => reply.status);
      expect(statuses.filter((status) => status === 200)).to.have.length.at.least(3);
      expect(
        statuses.filter((status) => status === 503).length +
          statuses.filter((status) => status === 200).length,
      ).to.equal(5);
    } finally {
      lock.release();
    }
  });
});
