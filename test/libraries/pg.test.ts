import { Duplex } from 'node:stream';
import { expect } from 'chai';
import pg from 'pg';
import { fixed } from '../../src/db/sql/sql.js';
import { copyIn, readUrl, sendCancelRequest, setHost } from '../../src/db/wire/index.js';
import { testServer } from '../support/postgresServer.js';
import { waitFor } from '../support/waitFor.js';
import { contractOf } from './contract.js';

const must = contractOf('pg');

/** Of pg's client and connection. */
type Internals = Record<'processID' | 'secretKey' | '_activeQuery' | 'connectionParameters', unknown> & {
  readonly connection: Record<'startup' | 'cancel', unknown> & {
    readonly stream: Duplex;
    query(text: string): void;
    on(event: string, listener: (message: Readonly<Record<string, unknown>>) => void): void;
    emit(event: string, error: Error): void;
  };
};

const internalsOf = (client: pg.ClientBase): Internals => client as unknown as Internals;
const BaseQuery = pg.Query as unknown as new (config: { text: string }) => object;
const METHODS = [
  'submit',
  'handleDataRow',
  'handleCommandComplete',
  'handleReadyForQuery',
  'handleError',
] as const;

describe('private parts of pg', () => {
  /** Our own pools would not open if one of the parts were missing. */
  let url: string;
  const clients: pg.Client[] = [];
  before(async () => {
    ({ url } = await testServer());
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  });
  const create = (config: pg.ClientConfig = {}): pg.Client => {
    const client = new pg.Client({ connectionString: url, ...config });
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  const connect = async (config?: pg.ClientConfig): Promise<pg.Client> => {
    const client = create(config);
    await client.connect();
    return client;
  };

  it('`Query`: `submit`, `handleDataRow`, `handleCommandComplete`, `handleReadyForQuery`, `handleError`', async () => {
    const methods = BaseQuery.prototype as Readonly<Record<string, unknown>>;
    for (const name of METHODS)
      must(typeof methods[name] === 'function', `Query.prototype.${name} is no longer a method`);
    const calls: unknown[][] = [];
    class Recorded extends BaseQuery {
      readonly callback = (): void => undefined;
      #end: () => void = () => undefined;
      readonly ended = new Promise<void>((resolve) => (this.#end = resolve));
      constructor(private readonly statement: string) {
        super({ text: '' });
      }
      submit(connection: Internals['connection']): null {
        calls.push(['submit']);
        connection.query(this.statement);
        return null;
      }
      handleRowDescription(): void {
        // Only a simple query, as here, has one.
      }
      handleDataRow({ length, fields }: { readonly length: unknown; readonly fields: unknown }): void {
        calls.push(['handleDataRow', typeof length, fields]);
      }
      handleCommandComplete(): void {
        calls.push(['handleCommandComplete']);
      }
      handleReadyForQuery(): void {
        calls.push(['handleReadyForQuery']);
        this.#end();
      }
      handleError({ code }: { readonly code: unknown }): void {
        calls.push(['handleError', code]);
        this.#end();
      }
    }
    const client = await connect({ pipeline: true });
    const queries = [new Recorded(`select 1, null`), new Recorded('select 1/0')];
    for (const query of queries) client.query(query as unknown as pg.Submittable);
    must(calls.length === 2, 'a client in pipeline mode no longer submits a Query before the last one ended');
    await Promise.all(queries.map(({ ended }) => ended));
    const expected = [
      ['submit'],
      ['submit'],
      ['handleDataRow', 'number', ['1', null]],
      ['handleCommandComplete'],
      ['handleReadyForQuery'],
      ['handleError', '22012'],
    ];
    must(
      JSON.stringify(calls) === JSON.stringify(expected),
      `a subclass of Query is called differently: ${JSON.stringify(calls)}`,
    );
  });

  it('`Query`: `handleCopyInResponse`; `sendCopyFromChunk`, `endCopyFrom` of a connection', async () => {
    const client = await connect();
    await client.query('create temp table copied (id int)');
    await copyIn(client, fixed('copy copied from stdin'), '1\n2\n').catch((error: unknown) =>
      must(false, `a subclass of Query no longer sends data: ${String(error)}`),
    );
    const { rows } = await client.query<{ sum: string }>('select sum(id) from copied');
    must(rows[0]?.sum === '3', 'data that are sent by sendCopyFromChunk are no longer copied');
  });

  it('`connection.stream`', async () => {
    const client = await connect();
    const { stream } = internalsOf(client).connection;
    must(stream instanceof Duplex, 'connection.stream is no longer the socket');
    const order: string[] = [];
    stream.prependListener('data', () => order.push('stream'));
    client.on('notice', () => order.push('pg'));
    await client.query(`do $$ begin raise notice 'seen'; end $$`);
    must(
      order[0] === 'stream' && order.includes('pg'),
      'a prepended listener of connection.stream no longer sees bytes before pg does',
    );
    const pending = client.query('select pg_sleep(60)').then(
      () => false,
      () => true,
    );
    stream.destroy();
    must(await pending, 'destroying connection.stream no longer rejects what runs');
  });

  it('`connection.startup`, `connection.cancel`', async () => {
    const client = await connect();
    const { connection } = internalsOf(create());
    for (const name of ['startup', 'cancel'] as const)
      must(typeof connection[name] === 'function', `connection.${name} is no longer a method`);
    const other = await connect();
    const running = client.query('select pg_sleep(60)').then(
      () => undefined,
      (error: unknown) => (error as pg.DatabaseError).code,
    );
    await waitFor('the statement', async () => {
      const { rows } = await other.query<{ n: number }>(
        `select 1 as n from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'`,
      );
      return rows.length > 0;
    });
    await sendCancelRequest(create(), client);
    must((await running) === '57014', 'connection.cancel in place of connection.startup no longer cancels');
  });

  it('`connection`: events `parameterStatus`, `errorMessage`, `error`', async () => {
    const client = create();
    const { connection } = internalsOf(client);
    const parameters = new Map<unknown, unknown>();
    const codes: unknown[] = [];
    connection.on('parameterStatus', ({ parameterName, parameterValue }) =>
      parameters.set(parameterName, parameterValue),
    );
    connection.on('errorMessage', ({ code }) => codes.push(code));
    await client.connect();
    must(
      parameters.get('in_hot_standby') === 'off',
      'the event parameterStatus no longer comes with parameterName and parameterValue while a client connects',
    );
    await client.query('select 1/0').catch(() => undefined);
    must(codes[0] === '22012', 'the event errorMessage no longer comes with the code of an error');
    const reason = new Error('from outside');
    const running = client.query('select pg_sleep(60)').catch((error: unknown) => error);
    connection.emit('error', reason);
    connection.stream.destroy();
    must((await running) === reason, 'the event error of a connection no longer rejects what runs');
  });

  it('`processID`, `secretKey`, `host`, `port` of a client', async () => {
    const { hostname, port } = new URL(url);
    const client = create({ connectionString: url.replace(`:${port}/`, ':1/') });
    setHost(client, { host: hostname, port: Number(port) });
    const isOpen = await client.connect().then(
      () => true,
      () => false,
    );
    must(isOpen, 'a client no longer connects to the host and port that it has');
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    must(internalsOf(client).processID === rows[0]?.pid, "processID is no longer the session's");
    must(typeof internalsOf(client).secretKey === 'number', 'secretKey is no longer a number');
  });

  it('`_activeQuery`', async () => {
    const client = await connect({ pipeline: true });
    const [first, second] = [client.query('select pg_sleep(0.05)'), client.query('select 1')];
    const active = internalsOf(client)._activeQuery;
    must(typeof active === 'object' && active !== null, '_activeQuery is no longer the statement that runs');
    await first;
    must(
      internalsOf(client)._activeQuery !== active,
      '_activeQuery is no longer the first without a response',
    );
    await second;
    must((internalsOf(client)._activeQuery ?? null) === null, '_activeQuery is no longer empty at the end');
  });

  it('`connectionParameters`', () => {
    const given = 'postgres://user:secret@host.example:123/base?sslmode=verify-full&sslnegotiation=direct';
    const { connectionParameters } = internalsOf(new pg.Client({ connectionString: given }));
    const wanted = { host: 'host.example', port: 123, user: 'user', password: 'secret', database: 'base' };
    for (const [name, value] of Object.entries({ ...wanted, sslnegotiation: 'direct' })) {
      const found = (connectionParameters as Readonly<Record<string, unknown>> | undefined)?.[name];
      must(found === value, `connectionParameters.${name} is no longer what the URL says`);
    }
    expect(readUrl(given)).to.include(wanted);
  });

  it('`query` of a client, replaced', async () => {
    const pool = new pg.Pool({ connectionString: url });
    let calls = 0;
    pool.on('connect', (client) => {
      const send = client.query.bind(client) as (...args: unknown[]) => unknown;
      client.query = ((...args: unknown[]) => {
        calls += 1;
        return send(...args);
      }) as typeof client.query;
    });
    try {
      await pool.query('select 1');
      must(calls === 1, "a pool no longer calls its client's own query");
    } finally {
      await pool.end();
    }
  });

  it("`end()` of a pool's client, called in the event `release`", async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.once('release', (_error, client) => void (client as unknown as pg.Client).end());
    try {
      const first = await pool.connect();
      first.release();
      const second = await pool.connect();
      const isOther = second !== first;
      second.release();
      must(isOther, 'a pool keeps a client that was ended in the event release');
    } finally {
      await pool.end();
    }
  });
});
