import pg from 'pg';
import { captureTable } from '../../../src/control/utility/capture.js';
import type { Writers } from '../../../src/db/capture/capture.js';
import { openShop, type Shop } from '../../graphql/support/shop.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

export interface CapturedEvent {
  readonly tenantid: number;
  readonly operation: string;
  readonly target: string;
  readonly key: string;
  readonly old: string | null;
  readonly new: string | null;
  readonly roleid: number | null;
  readonly writer: string | null;
  readonly application: string | null;
}

export interface CaptureFixture {
  readonly shop: Shop;
  /** An application's session, in the tenant's schema, with settings of its own. */
  readonly writer: pg.Client;
  connect(): Promise<pg.Client>;
  capture(table: string, writers: Writers): Promise<void>;
  /** Events since the last call, in order; rows as the text that is stored. */
  events(): Promise<readonly CapturedEvent[]>;
  /** As `operation target key`, sorted. */
  changes(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** A tenant whose tables others write to as well. */
export async function openCaptureFixture(ddl: string, captured: readonly string[]): Promise<CaptureFixture> {
  const shop = await openShop(ddl);
  const { tenantid, schema } = shop.tenant;
  const { database, url } = shop.test;
  const clients: pg.Client[] = [];
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url, application_name: 'crm' });
    await client.connect();
    clients.push(client);
    await client.query(
      `set search_path = ${schema}; set timezone = 'Europe/Berlin'; set datestyle = 'German'; set intervalstyle = 'sql_standard'; set extra_float_digits = 0; set bytea_output = 'escape'`,
    );
    return client;
  };
  const capture: CaptureFixture['capture'] = async (table, writers) => {
    const catalog = await shop.engine.introspect(tenantid, schema);
    await inTransaction(database.pool, (trx) =>
      captureTable(trx, database, { tenantid, catalog, table }, writers),
    );
  };
  for (const table of captured) await capture(table, 'all');
  let seen = '0';
  const events: CaptureFixture['events'] = async () => {
    const { rows } = await database.pool.query<CapturedEvent & { eventid: string }>(
      `select eventid, tenantid, operation, target, key::text, old::text, new::text, roleid, writer, application
       from rowpost.outbox where eventid > $1 order by eventid`,
      [seen],
    );
    seen = rows.at(-1)?.eventid ?? seen;
    return rows;
  };
  return {
    shop,
    writer: await connect(),
    connect,
    capture,
    events,
    changes: async () =>
      (await events()).map(({ operation, target, key }) => `${operation} ${target} ${key}`).sort(),
    async close() {
      await Promise.all(clients.map((client) => client.end()));
      await shop.close();
    },
  };
}
