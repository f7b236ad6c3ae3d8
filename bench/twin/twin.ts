import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { startChildServer, type ChildServer } from '../support/childServer.js';
import { fillShop, SHOP_TABLES } from '../support/shop.js';
import { makeEmptyDatabase } from '../pipeline/emptyDatabase.js';
import type { Backend } from '../pipeline/options.js';
import type { Site } from '../pipeline/site.js';
import type { TwinSettings } from './settings.js';

/** The program by hand, on a database of its own beside that of Rowpost. */
export interface Twin {
  readonly database: string;
  /** Committed events that no relay has read. */
  writeBacklog(events: number): Promise<void>;
  start(part: 'web' | 'relay' | 'worker', dieIn?: string): Promise<ChildServer>;
  /** One row of figures. */
  query<T>(text: string): Promise<T[]>;
  stop(): Promise<void>;
}

const CUSTOMERS = 500;
const EVENTS_A_TRANSACTION = 100;

export async function createTwin(
  {
    installation,
    redis,
    carrier,
  }: Pick<Site, 'redis' | 'carrier'> & { readonly installation: Pick<Site['installation'], 'databaseUrl'> },
  backend: Backend,
  concurrency: number,
): Promise<Twin> {
  const database = await makeEmptyDatabase(installation, 'twin');
  const settings: TwinSettings = {
    database,
    store: backend === 'redis' ? `${redis.url}/2` : database,
    carrier: carrier.url,
    concurrency,
  };
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  await client.query(`do $$ begin create role twin_shop; exception when duplicate_object then null; end $$;
    grant twin_shop to current_user;
    create schema shop authorization twin_shop; set role twin_shop; set search_path = shop; ${SHOP_TABLES}
    alter table item add column written_ms text not null default (extract(epoch from clock_timestamp()) * 1000)::text;
    ${fillShop(CUSTOMERS)} reset role; reset search_path`);
  await client.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'));
  return {
    database,
    async writeBacklog(events) {
      for (let from = 1; from <= events; from += EVENTS_A_TRANSACTION) {
        await client.query(
          `insert into outbox (row) select json_build_object('item_id', n, 'order_id', 1 + n % ${CUSTOMERS * 10},
             'product', 'backlog', 'quantity', 2, 'price', 14.50, 'written_ms', '0') from generate_series($1::int, $2::int) n`,
          [from, Math.min(from + EVENTS_A_TRANSACTION - 1, events)],
        );
      }
    },
    start: (part, dieIn) =>
      startChildServer(new URL(`${part}Server.ts`, import.meta.url), [
        JSON.stringify(dieIn === undefined ? settings : { ...settings, dieIn }),
      ]),
    query: async <T>(text: string) => (await client.query(text)).rows as T[],
    stop: () => client.end(),
  };
}
