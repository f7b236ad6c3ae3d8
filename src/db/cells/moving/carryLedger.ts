import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Pool } from 'pg';
import { UsageError } from '../../../foundation/errors.js';
import { inTransaction } from '../../pool/inTransaction.js';
import type { Ledger } from '../../pool/ledgerPool.js';
import { RELAY_LOCK } from '../../outbox/batchEventsSql.js';
import type { DeliveryKey } from '../../ledger/deliveryKey.js';
import { IS_OPEN, LOW_WATER_SQL } from '../../outbox/lowWaterMark.js';
import { NOT_ENDED, trackDeliveries } from '../../ledger/track.js';
import { empty, identifier, join, sql, statement, textConstant, type Sql } from '../../sql/sql.js';
import { EVALUATED, HELD_BACK } from './handOver.js';
import { readInChunks } from './readInChunks.js';

// A fenced tenant's email: nothing begins to be sent, and no rule is evaluated. Events whose rules were not evaluated, and
// deliveries that have not ended, are carried before the other cell takes over; the history of those that have ended, after.

/** By then a call to a carrier has ended, or its lease has. */
const PATIENCE_MS = 120_000;
const POLL_MS = 20;

/** Waits for the attempts in flight of a fenced tenant. All of its open deliveries are tracked then. */
export async function endOfAttempts(ledger: Ledger, tenantid: number): Promise<void> {
  await trackDeliveries(ledger, await ledger.query<DeliveryKey>(UNTRACKED, [tenantid]));
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const rows = await ledger.query(SENDING, [tenantid]);
    if (rows.length === 0) return;
    await delay(POLL_MS);
  }
  throw new UsageError('attempts to send email do not end: are a relay and a worker running?');
}

const UNTRACKED = {
  text: statement`
    select d.tenantid, d.deliveryid::text as deliveryid, d.createtime::text as createtime from rowpost.delivery d
    where d.tenantid = $1::int and ${NOT_ENDED}
      and d.xid >= (select pg_snapshot_xmin(since) from rowpost.delivery_sweep order by sweepid desc limit 1)`,
};

const SENDING = {
  text: statement`select from rowpost.delivery where tenantid = $1::int and due is not null and state = 'sending' limit 1`,
};

/** What no poll has read, and what is in batches that are not done. */
const OPEN_EVENTS = sql`
  ${LOW_WATER_SQL}, open_batch as materialized (
    select b.batchid, b.createtime, b.eventids, b.mintime, b.maxtime from rowpost.relay_batch b
    where b.tenantid = $1::int and ${IS_OPEN}
  ), last as materialized (
    select snapshot from rowpost.relay_poll order by pollid desc limit 1
  ), unread as materialized (
    select eventid, time from rowpost.outbox o
    where o.tenantid = $1::int and o.xid >= (select pg_snapshot_xmin(snapshot) from last)
      and not pg_visible_in_snapshot(o.xid, (select snapshot from last))
    union all
    select eventid, time from rowpost.outbox where tenantid = $1::int and xid = ${textConstant(HELD_BACK)}
  ), open_event as materialized (
    select eventid, time from unread
    union
    select o.eventid, o.time from open_batch b
      join rowpost.outbox o on o.tenantid = $1::int and o.eventid = any (b.eventids) and o.time between b.mintime and b.maxtime
  )`;

const OPEN_DELIVERIES = sql`
  open_delivery as materialized (
    select tenantid, deliveryid, createtime, eventid from rowpost.delivery
    where tenantid = $1::int and due is not null and state in ('pending', 'retrying')
    union all
    select tenantid, deliveryid, createtime, eventid from rowpost.delivery
    where tenantid = $1::int and state = 'paused'
  )`;

interface Carried {
  readonly table: string;
  /** What rows are marked with, where they have one. */
  readonly xid?: string;
  /** Selects rows of tenant `$1` as JSON. */
  readonly rows: Sql;
}

const OPEN: readonly Carried[] = [
  {
    table: 'outbox',
    xid: HELD_BACK,
    rows: sql`with ${OPEN_EVENTS} select row_to_json(o)::text as row from rowpost.outbox o join open_event using (eventid, time)
      where o.tenantid = $1::int`,
  },
  {
    table: 'outbox',
    xid: EVALUATED,
    rows: sql`with ${OPEN_DELIVERIES} select row_to_json(o)::text as row from rowpost.outbox o
      where o.tenantid = $1::int and (eventid, time) in (select eventid, createtime from open_delivery)`,
  },
  ...['delivery', 'email_attempt', 'email_event'].map((table) => ({
    table,
    rows: sql`with ${OPEN_DELIVERIES} select row_to_json(r)::text as row from ${identifier('rowpost', table)} r
      join open_delivery using (tenantid, deliveryid, createtime)`,
  })),
  {
    table: 'email_pace',
    rows: sql`select row_to_json(r)::text as row from rowpost.email_pace r where tenantid = $1::int`,
  },
];

const OF_TENANT = ['email_attempt', 'delivery_start', 'email_event', 'sent_mail', 'delivery'];

const HISTORY: readonly Carried[] = [
  {
    table: 'outbox',
    xid: EVALUATED,
    rows: sql`select row_to_json(o)::text as row from rowpost.outbox o
      where o.tenantid = $1::int
        and (eventid, time) in (select eventid, createtime from rowpost.delivery where tenantid = $1::int)`,
  },
  ...OF_TENANT.map((table) => ({
    table,
    rows: sql`select row_to_json(r)::text as row from ${identifier('rowpost', table)} r where tenantid = $1::int`,
  })),
];

/** Copies a fenced tenant's open events and deliveries to where it is expected, all or nothing. */
export function carryOpen(source: Pool, target: Pool, tenantid: number): Promise<void> {
  return carry(source, target, tenantid, OPEN);
}

/** Copies the deliveries that had ended when the tenant was fenced, all or nothing. Idempotent: what is there stays. */
export function carryHistory(source: Pool, target: Pool, tenantid: number): Promise<void> {
  return carry(source, target, tenantid, HISTORY);
}

async function carry(source: Pool, target: Pool, tenantid: number, parts: readonly Carried[]): Promise<void> {
  await inTransaction(source, async (from) => {
    await from.query(
      statement`set transaction isolation level repeatable read, read only; set local statement_timeout = 0;
       set local idle_in_transaction_session_timeout = 0`,
    );
    await inTransaction(target, async (to) => {
      await to.query(statement`set local statement_timeout = 0`);
      for (const { table, xid, rows: select } of parts) {
        await readInChunks(from, select, [tenantid], (rows) => insertCarried(to, table, xid, rows));
      }
    });
  });
}

async function insertCarried(
  to: pg.ClientBase,
  table: string,
  xid: string | undefined,
  rows: readonly string[],
): Promise<void> {
  const { rows: found } = await to.query<{ name: string }>(
    statement`select attname::text as name from pg_catalog.pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attname <> 'xid' order by attnum`,
    [`rowpost.${table}`],
  );
  const of = identifier('rowpost', table);
  const columns = join(found.map(({ name }) => identifier(name)));
  const [marked, mark] = xid === undefined ? [empty, empty] : [sql`, xid`, sql`, ${textConstant(xid)}`];
  await to.query(
    statement`insert into ${of} (${columns}${marked}) overriding system value
     select ${columns}${mark}
     from unnest($1::json[]) l(line), json_populate_record(null::${of}, line) r
     on conflict do nothing`,
    [rows],
  );
}

/**
 * Forgets the events of a tenant that is not served, whose rules were not evaluated: they were carried elsewhere, or here in vain. No
 * relay polls meanwhile, and none finds them later, should the tenant come back. In a transaction that ends soon, since no other tenant's
 * events are read either.
 */
export async function forgetEvents(client: pg.ClientBase, tenantid: number): Promise<void> {
  await client.query(RELAY_LOCK.text);
  await client.query(
    statement`with ${OPEN_EVENTS}, done as (
       insert into rowpost.relay_batch_done (batchid, createtime) select batchid, createtime from open_batch
       on conflict do nothing
     )
     delete from rowpost.outbox o using unread u where o.tenantid = $1::int and o.eventid = u.eventid and o.time = u.time`,
    [tenantid],
  );
}

/** Forgets the deliveries of such a tenant, which may be millions: first themselves, so that none looks as if it had not been started. */
export async function forgetDeliveries(pool: Pool, tenantid: number): Promise<void> {
  for (const table of [...OF_TENANT, 'email_recipient', 'email_pace'].reverse()) {
    await inTransaction(pool, async (client) => {
      await client.query(statement`set local statement_timeout = 0`);
      await client.query(statement`delete from ${identifier('rowpost', table)} where tenantid = $1`, [
        tenantid,
      ]);
    });
  }
}
