import { expect } from 'chai';
import pg from 'pg';
import { ResponseBudget } from '../../../src/db/pool/responseBudget.js';
import type { Lease } from '../../../src/db/pool/connectionPool.js';
import { preparedText, type PreparedText } from '../../../src/db/pool/preparedStatements.js';
import { Transactions, type TransactionOutcome } from '../../../src/db/pool/transactions.js';
import { waitFor } from '../../support/waitFor.js';
import { openShop, roleWith, SHOP_DDL, type Shop } from '../../graphql/support/shop.js';
import { formatted } from '../../../src/db/sql/sql.js';

const codeOf = (outcome: TransactionOutcome): string =>
  outcome.kind === 'failed' ? outcome.error.code : 'done';

describe('transactions', () => {
  let shop: Shop;
  before(
    async () =>
      (shop = await openShop(SHOP_DDL, {
        PG_POOL: '7',
        TENANT_QUEUE_LENGTH: '2',
        PG_POOL_TIMEOUT_MS: '400',
      })),
  );
  after(() => shop.close());

  const run = (mode: 'read' | 'write', ...texts: string[]): Promise<TransactionOutcome> =>
    shop.test.database.transactions.run({
      tenantid: null,
      mode,
      statements: texts.map((text) => ({ statement: preparedText(formatted(text)), values: [] })),
    });

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
      statement: preparedText(formatted(`select '${i}'`)),
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
      const statement = preparedText(formatted(text));
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

    it('are refused alone when their reservation is too large', async () => {
      const responses = new ResponseBudget({ requestBytes: 1_000, processBytes: 1_000_000 });
      const statement = await hot("select repeat('x', coalesce($1::int, 0))");
      const sizes = Array.from({ length: 32 }, (_, n) => (n % 3 === 0 ? 2_000 : 10));
      const outcomes = await Promise.all(
        sizes.map(async (size) => {
          const reservation = responses.open(1);
          const outcome = await shop.test.database.transactions.run({
            tenantid: null,
            mode: 'read',
            statements: [{ statement, values: [size] }],
            reservation,
          });
          reservation.release();
          return outcome;
        }),
      );
      expect(texts(outcomes)).to.deep.equal(
        sizes.map((size) => (size > 1_000 ? 'DOCUMENT_TOO_COMPLEX' : 'x'.repeat(size))),
      );
      expect(responses.heldBytes).to.equal(0);
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
      timeoutMs: 1_000,
      canceler: { createClientBeside: createClient, requestCancel: () => Promise.resolve(), isPooled: false },
      preparedStatements: true,
    });
    const nap = { statement: preparedText('select pg_sleep(0.2)::text'), values: [] };
    const change = preparedText(
      formatted(`insert into ${shop.tenant.schema}.customer (name) values ('too late') returning '1'`),
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
      expect(performance.now() - startedAt).to.be.below(7_500);
    }
    const { rows } = await pool.query(`select from ${shop.tenant.schema}.customer where name = 'too late'`);
    expect(rows).to.have.length(0);
    expect(codeOf(await brief.run({ tenantid: null, mode: 'read', statements: [nap] }))).to.equal('done');
  });

  it('let no tenant exhaust the pool: the rest waits, then gets 503', async () => {
    // Documents that wait to be planned are limited too.
    await shop.ask('{ customer { name } }');
    const lock = await shop.test.database.pool.connect();
    try {
      await lock.query(`begin; lock table ${shop.tenant.schema}.customer in access exclusive mode`);
      // Three of four connections run three of twelve requests, two more wait, the next is refused at once.
      const asked = Array.from({ length: 14 }, () => shop.ask('{ customer { name } }'));
      await waitFor('three blocked statements', async () => {
        const { rows } = await shop.test.database.pool.query<{ n: string }>(
          "select count(*) as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return rows[0]!.n === '3';
      });
      const refused = await shop.engine.execute(
        shop.root,
        { query: '{ customer { name } }' },
        { allowMutation: false },
      );
      expect(refused.status).to.equal(503);
      expect(refused.retryAfterSeconds).to.equal(1);
      expect(JSON.parse(refused.body)).to.have.nested.property('errors[0].extensions.code', 'TOO_BUSY');
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
      ).to.equal(14);
    } finally {
      lock.release();
    }
  });
});

describe('inserts of one tenant at the same time', () => {
  let shop: Shop;
  before(async () => (shop = await openShop('')));
  after(() => shop.close());

  const insert = async (text: string): Promise<(value: string) => Promise<TransactionOutcome>> => {
    const statement = preparedText(formatted(text));
    const run = (value: string): Promise<TransactionOutcome> =>
      shop.test.database.transactions.run({
        tenantid: shop.tenant.tenantid,
        mode: 'write',
        statements: [{ statement, values: [value] }],
        onlyInserts: true,
      });
    for (let n = 0; n < 6; n++) await run(`before ${n}`);
    statement.quickestMs = 0;
    return run;
  };
  const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `name ${n}`);
  const create = (): ReturnType<typeof insert> =>
    insert(`insert into ${shop.tenant.schema}.label (name) values ($1) returning xmin::text, name`);
  const stored = async (): Promise<string[]> => {
    const { rows } = await shop.test.database.pool.query<{ name: string }>(
      `select name from ${shop.tenant.schema}.label where name not like 'before%' order by id`,
    );
    return rows.map(({ name }) => name);
  };
  beforeEach(async () => {
    await shop.sql(
      'drop table if exists label; create table label (id serial primary key, name text unique)',
    );
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
  });

  it('share transactions, each getting its own row', async () => {
    const run = await create();
    const outcomes = await Promise.all(names(18).map(run));
    const rows = outcomes.map((outcome) => (outcome.kind === 'done' ? outcome.results[0]?.[0] : undefined));
    expect(rows.map((row) => row?.[1])).to.deep.equal(names(18));
    // The first two find nothing to wait for; the others fit into one.
    expect(new Set(rows.map((row) => row?.[0])).size).to.equal(3);
  });

  it('fail alone', async () => {
    const run = await create();
    await run('name 5');
    const codes = (await Promise.all(names(12).map(run))).map(codeOf);
    expect(codes).to.deep.equal(names(12).map((_, n) => (n === 5 ? 'UNIQUE_VIOLATION' : 'done')));
    expect(new Set(await stored())).to.deep.equal(new Set(names(12)));
    expect(await stored()).to.have.length(12);
  });

  it('wait for locks alone', async () => {
    const run = await create();
    const client = await shop.test.database.pool.connect();
    await client.query(`begin; insert into ${shop.tenant.schema}.label (name) values ('name 5')`);
    const asked = names(12).map(run);
    const others = await Promise.all(asked.filter((_, n) => n !== 5));
    expect(others.map(codeOf)).to.deep.equal(others.map(() => 'done'));
    await client.query('commit');
    client.release();
    expect(codeOf(await asked[5]!)).to.equal('UNIQUE_VIOLATION');
  });

  it('are all unknown when their connection breaks', async () => {
    const run = await create();
    const { tenants } = shop.test.database;
    const acquire = tenants.acquire.bind(tenants);
    tenants.acquire = async (...args) => {
      const lease = await acquire(...args);
      const { connection } = lease.client as unknown as {
        connection: { stream: { destroy(): void } };
      };
      setImmediate(() => connection.stream.destroy());
      return lease;
    };
    // Otherwise PostgreSQL might respond first.
    const locker = await shop.test.database.pool.connect();
    await locker.query(`begin; lock table ${shop.tenant.schema}.label in share mode`);
    try {
      const codes = (await Promise.all(names(10).map(run))).map(codeOf);
      expect(new Set(codes)).to.deep.equal(new Set(['OUTCOME_UNKNOWN']));
    } finally {
      tenants.acquire = acquire;
      await locker.query('rollback');
      locker.release();
    }
  });

  it('run alone where the tables have code of the tenant', async () => {
    await shop.sql(
      `create function noted() returns trigger language plpgsql as 'begin return new; end';
       create trigger noted before insert on label for each row execute function noted()`,
    );
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
    const run = await create();
    const outcomes = await Promise.all(names(10).map(run));
    const ids = outcomes.map((outcome) =>
      outcome.kind === 'done' ? outcome.results[0]?.[0]?.[0] : undefined,
    );
    expect(new Set(ids).size).to.equal(10);
  });
});
