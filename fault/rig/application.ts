import pg from 'pg';
import { createConnector } from '../../src/db/pool/connector.js';
import { testLog } from '../../test/support/testConfig.js';

const CONNECTIONS = 4;

/** A tenant's own application, independent of Rowpost: it writes plain SQL. */
export class Application {
  readonly #pool: pg.Pool;

  /** @param patienceMs timeout of a statement */
  constructor(databaseUrl: string, patienceMs: number) {
    const { Client, config } = createConnector({
      url: databaseUrl,
      config: { application_name: 'shop application', query_timeout: patienceMs },
      poolTimeoutMs: patienceMs,
      log: testLog,
    });
    this.#pool = new pg.Pool({ ...config, Client, max: CONNECTIONS });
    this.#pool.on('connect', (client) => void client.on('error', () => undefined));
    this.#pool.on('error', () => undefined);
  }

  /** One transaction. Rejects if it failed or its outcome is unknown. */
  async insertOrder(
    schema: string,
    order: { readonly orderId: number; readonly channel: string; readonly mark: string },
    times = 1,
  ): Promise<void> {
    const table = `${pg.escapeIdentifier(schema)}.orders`;
    const values = [order.orderId, pg.escapeLiteral(order.channel), pg.escapeLiteral(order.mark)].join(', ');
    const insert = `insert into ${table} (order_id, channel, mark) values (${values});`;
    await this.#pool.query(insert.repeat(times));
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}
