// Reads the product's tables. The only place that knows their columns.
import pg from 'pg';
import { createConnector } from '../../src/db/pool/connector.js';
import type { Stoppable } from '../../src/foundation/lifecycle/shutdown.js';
import { testLog } from '../../test/support/testConfig.js';
import type { OpenShop, Shop } from './shop.js';

export interface DeliveryRow {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly ruleid: string;
  readonly orderId: number;
  readonly policy: 'at_least_once' | 'at_most_once';
  readonly state: string;
  readonly errorCode: string | null;
  readonly starts: number;
}

export interface AttemptRow {
  readonly deliveryid: string;
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly outcome: string;
  readonly error: string | null;
}

const TERMINAL_STATES = ['sent', 'failed', 'skipped', 'unknown'];
const TERMINAL = TERMINAL_STATES.map((state) => `'${state}'`).join(', ');

/** Reads the product's tables directly. */
export class LedgerReader {
  readonly #pool: pg.Pool;
  readonly #watch: Stoppable;

  constructor(databaseUrl: string) {
    const connector = createConnector({
      url: databaseUrl,
      config: { application_name: 'fault harness' },
      poolTimeoutMs: 5_000,
      log: testLog,
    });
    this.#pool = new pg.Pool({ ...connector.config, Client: connector.Client, max: 4 });
    this.#pool.on('connect', (client) => void client.on('error', () => undefined));
    this.#pool.on('error', () => undefined);
    // A primary that was stopped breaks no connection.
    this.#watch = connector.watch(() => this.#pool.query('select'));
  }

  async query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(sql, [...values])).rows;
  }

  deliveries(): Promise<DeliveryRow[]> {
    return this.query(`
      select tenantid, deliveryid::text as deliveryid, ruleid::text as ruleid,
        (key ->> 'order_id')::int as "orderId", delivery as policy, state, error_code as "errorCode", starts
      from rowpost.email_delivery`);
  }

  attempts(): Promise<AttemptRow[]> {
    return this.query(`
      select deliveryid::text as deliveryid, attempt, extract(epoch from started)::float8 * 1000 as "startedAtMs",
        extract(epoch from finished)::float8 * 1000 as "finishedAtMs", outcome, error
      from rowpost.email_attempt order by deliveryid, attempt`);
  }

  /** Committed orders, from the shop's own table. */
  async committedOrders(shop: Shop): Promise<ReadonlySet<number>> {
    const rows = await this.query<{ order_id: number }>(`select order_id from ${shop.schema}.orders`);
    return new Set(rows.map((row) => row.order_id));
  }

  /** What became of an order's emails so far, for debugging. */
  async describeOrder({ tenantid }: Shop, orderId: number): Promise<readonly string[]> {
    const rows = await this.query<{ text: string }>(
      `select concat_ws(' ', 'delivery', d.deliveryid, d.state, d.error_code, d.starts, 'starts, due', d.due,
          (select string_agg(concat_ws(' ', a.attempt, a.outcome, a.started, a.error), '; ' order by a.attempt)
           from rowpost.email_attempt a where a.deliveryid = d.deliveryid)) as text
       from rowpost.email_delivery d where d.tenantid = $1 and d.key ->> 'order_id' = $2`,
      [tenantid, String(orderId)],
    );
    return rows.map(({ text }) => text);
  }

  /** Orders of each batch, by batch id. */
  async ordersOfBatches(batchids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await this.query<{ batchid: string; marks: string[] }>(
      `select b.batchid::text as batchid, array_agg(o.new ->> 'mark') as marks
       from rowpost.relay_batch b join rowpost.outbox o on o.eventid = any (b.eventids)
       where b.batchid = any ($1::bigint[]) group by 1`,
      [batchids],
    );
    return new Map(rows.map(({ batchid, marks }) => [batchid, marks]));
  }

  /** Seconds by which the most overdue open delivery is late. */
  async longestOverdue(): Promise<{ readonly seconds: number; readonly deliveryid: string | null }> {
    const [row] = await this.query<{ seconds: number; deliveryid: string }>(`
      select extract(epoch from now() - due)::float8 as seconds, deliveryid::text as deliveryid
      from rowpost.delivery where due is not null and state in ('pending', 'sending', 'retrying')
      order by due limit 1`);
    return row ?? { seconds: 0, deliveryid: null };
  }

  /** Open deliveries that would never be looked at again. Zero once the system is idle. */
  async forgotten(): Promise<readonly string[]> {
    const rows = await this.query<{ deliveryid: string }>(`
      select deliveryid::text as deliveryid from rowpost.email_delivery
      where due is null and state in ('pending', 'sending', 'retrying')`);
    return rows.map(({ deliveryid }) => deliveryid);
  }

  /** @param tenantid all by default */
  async countOpen(tenantid?: number): Promise<number> {
    const [row] = await this.query<{ open: number }>(
      `select count(*)::int as open from rowpost.email_delivery
       where state not in (${TERMINAL}, 'paused') and tenantid = coalesce($1, tenantid)`,
      [tenantid ?? null],
    );
    return row?.open ?? 0;
  }

  /** Committed orders of the shop without a confirmation in the ledger. */
  async countUnrecorded({ schema, confirmRuleid }: OpenShop): Promise<number> {
    const [row] = await this.query<{ missing: number }>(
      `select (select count(*) from ${schema}.orders)::int
         - (select count(*) from rowpost.delivery where ruleid = $1)::int as missing`,
      [confirmRuleid],
    );
    return row?.missing ?? 0;
  }

  /** Finished deliveries, for the witness. */
  async ended(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.query<{ deliveryid: string; state: string }>(
      `select deliveryid::text as deliveryid, state from rowpost.email_delivery where state in (${TERMINAL})`,
    );
    return new Map(rows.map(({ deliveryid, state }) => [deliveryid, state]));
  }

  /** Every row of every table of a schema as text, to search for secrets. */
  async *texts(schema: string): AsyncGenerator<{ readonly table: string; readonly text: string }> {
    const tables = await this.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = $1 and c.relkind = 'r'`,
      [schema],
    );
    for (const { name } of tables) {
      const [row] = await this.query<{ text: string | null }>(
        `select string_agg(t::text, E'\\n') as text from ${name} t`,
      );
      yield { table: name, text: row?.text ?? '' };
    }
  }

  async close(): Promise<void> {
    await this.#watch.stop();
    await this.#pool.end();
  }
}
