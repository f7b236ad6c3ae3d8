import { expect } from 'chai';
import pg from 'pg';
import { COUNT, countDeliveries, LOCK } from '../../../src/db/ledger/countDeliveries.js';
import { makePartitions } from '../../../src/db/outbox/partitions.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { generator, testSeed } from '../../support/randomNumbers.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

const HOUR_MS = 3_600_000;
const STATES = ['pending', 'sending', 'retrying', 'paused', 'sent', 'failed', 'skipped', 'unknown'];
const EVENTS = ['delivered', 'open', 'click', 'deferred', 'bounce', 'dropped', 'spamreport', 'unsubscribe'];
const CODES = [null, 'TEMPLATE_FAILED', 'SUPPRESSED'];
const CARRIERS = [null, 'sendgrid', 'postmark'];

interface Key {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly createtime: Date;
}

describe('counts of deliveries', () => {
  let db: TestDatabase;
  let pool: pg.Pool;
  let tenants: readonly number[];
  const ids: Key[] = [];
  let events = 0;

  before(async () => {
    db = await createTestDatabase();
    pool = db.database.pool;
    tenants = await Promise.all(
      ['shop', 'other'].map(async (name) => {
        const made = await createTestTenant(pool, {
          name,
          rootLogin: 'root',
          rootPassword: 'secret of root',
        });
        return made.tenantid;
      }),
    );
    await makePartitions(db.database.ledger, Date.now() - 24 * HOUR_MS, 3);
  });
  after(() => db.drop());

  const deliver = async (random: (most: number) => number): Promise<void> => {
    const tracked = random(2) === 0;
    const at = new Date(Date.now() - random(40) * HOUR_MS - random(1000));
    const { rows } = await pool.query<Key>(
      `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, createtime,
         state, tracked, error_code, carrier, sent_time)
       values ($1, $2, $3, $4, 'insert', 'orders', '{}', 'at_least_once', $5, $6, $7, $8, $9, $10)
       returning tenantid, deliveryid::text, createtime`,
      [
        tenants[random(2)],
        ++events,
        random(2) + 1,
        `type ${random(3)}`,
        at,
        tracked ? STATES[random(STATES.length)] : 'pending',
        tracked,
        tracked ? CODES[random(3)] : null,
        tracked ? CARRIERS[random(3)] : null,
        tracked && random(2) === 0 ? new Date(at.getTime() + random(100_000)) : null,
      ],
    );
    ids.push(rows[0]!);
  };
  const start = ({ tenantid, deliveryid, createtime }: Key): Promise<unknown> =>
    pool.query(
      `insert into rowpost.delivery_start (tenantid, deliveryid, createtime, leased_until, recipients, subject, carrier)
       values ($1, $2, $3, now(), '{}', 's', 'resend') on conflict do nothing`,
      [tenantid, deliveryid, createtime],
    );
  const attempt = (
    { tenantid, deliveryid, createtime }: Key,
    [number, outcome]: readonly [number, string],
    finished: Date,
  ): Promise<unknown> =>
    pool.query(
      `insert into rowpost.email_attempt (tenantid, deliveryid, createtime, attempt, started, finished, outcome)
       values ($1, $2, $3, $4, $5, $5, $6) on conflict do nothing`,
      [tenantid, deliveryid, createtime, number, finished, outcome],
    );
  const report = (
    { tenantid, deliveryid, createtime }: Key,
    event: string,
    time: Date,
    run: pg.Pool | pg.PoolClient = pool,
  ): Promise<unknown> =>
    run.query(
      `insert into rowpost.email_event (tenantid, deliveryid, createtime, provider_event_id, event, time)
       values ($1, $2, $3, $4, $5, $6)`,
      [tenantid, deliveryid, createtime, `${events % 7 === 0 ? 'invalid.' : ''}${++events}`, event, time],
    );
  const change = ({ tenantid, deliveryid }: Key, random: (most: number) => number): Promise<unknown> =>
    pool.query(
      `update rowpost.delivery set tracked = true, state = $3, error_code = $4, carrier = $5, sent_time = $6
       where tenantid = $1 and deliveryid = $2`,
      [
        tenantid,
        deliveryid,
        STATES[random(STATES.length)],
        CODES[random(3)],
        CARRIERS[random(3)],
        random(2) === 0 ? null : new Date(Date.now() + random(100_000)),
      ],
    );

  const later = ({ createtime }: Key, random: (most: number) => number): Date =>
    new Date(createtime.getTime() + random(60_000));
  const happen = async (random: (most: number) => number): Promise<void> => {
    const one = ids[random(ids.length)]!;
    switch (random(6)) {
      case 0:
        return deliver(random);
      case 1:
        await start(one);
        return;
      case 2:
        await start(one);
        await attempt(one, [1, 'sent'], later(one, random));
        return;
      case 3:
        await report(one, EVENTS[random(EVENTS.length)]!, later(one, random));
        return;
      case 4:
        await change(one, random);
        return;
      default:
        // Only tracked deliveries are sent again.
        await change(one, random);
        await attempt(one, [2, 'redriven'], later(one, random));
    }
  };

  /** Per tenant and hour, and what else is listed. */
  const figures = async (source: string, ...columns: readonly string[]): Promise<unknown> => {
    const key = ['tenantid', 'hour', ...columns].join(', ');
    const { rows } = await pool.query(
      `select ${key}, sum(deliveries)::int as deliveries from ${source} s group by ${key} order by ${key}`,
    );
    return rows;
  };
  /** The ledger, as the API shows each delivery. */
  const LEDGER = `(select d.tenantid, date_trunc('hour', d.createtime, 'UTC') as hour, d.status, d.ruleid, d.email_type,
      coalesce(d.error_code, '') as error_code, 1 as deliveries,
      coalesce(l.carrier, (select s.carrier from rowpost.delivery_start s where s.deliveryid = d.deliveryid), '') as carrier,
      trunc(8 * log(2, 1 + greatest(0, 1000 * extract(epoch from d.sent_time - d.createtime))), 0)::smallint as wait,
      d.state = 'sent' and not exists (select from rowpost.email_attempt a
        where a.deliveryid = d.deliveryid and a.outcome = 'redriven') as is_timed
    from rowpost.email_delivery d join rowpost.delivery l using (tenantid, deliveryid))`;
  const requireExact = async (when: string): Promise<void> => {
    for (const [table, source, ...columns] of [
      ['delivery_count', LEDGER, 'status', 'carrier', 'error_code'],
      ['delivery_count_by_type', LEDGER, 'email_type', 'ruleid', 'status'],
      ['delivery_count_by_wait', `(select * from ${LEDGER} l where is_timed and wait is not null)`, 'wait'],
    ] as const) {
      const expected = await figures(source, ...columns);
      expect(await figures(`rowpost.${table}`, ...columns), `${table}, ${when}`).to.deep.equal(expected);
    }
  };

  it('are those of the ledger, whatever happens to the deliveries and however late', async () => {
    const random = generator(testSeed());
    await deliver(random);
    for (let round = 0; round < 12; round += 1) {
      for (let step = 0; step < 25; step += 1) await happen(random);
      await countDeliveries(pool);
      await requireExact(`round ${round}`);
    }
    const { rows } = await pool.query('select distinct status from rowpost.delivery_count');
    expect(rows.length).to.be.greaterThan(4);
    const { rowCount } = await pool.query('select from rowpost.delivery_count_due');
    expect(rowCount, 'nothing is left to count').to.equal(0);
  });

  it('miss no change that commits while they are counted', async () => {
    const random = generator(1);
    await deliver(random);
    const one = ids.at(-1)!;
    const writer = await pool.connect();
    await writer.query('begin');
    await report(one, 'bounce', new Date(), writer);
    // A row for the same hour that is taken meanwhile.
    await change(one, random);
    await countDeliveries(pool);
    await writer.query('commit');
    writer.release();
    await countDeliveries(pool);
    await requireExact('after the late commit');
  });

  it('are exact after counting was killed at each of its steps, and beside others that count', async () => {
    const random = generator(2);
    for (const table of ['delivery_count_due', 'email_event', 'delivery_count', 'delivery_count_by_type']) {
      for (let step = 0; step < 10; step += 1) await happen(random);
      const blocker = new pg.Client({ connectionString: db.url });
      await blocker.connect();
      await blocker.query(`begin; lock table rowpost.${table} in exclusive mode`);
      if (table === 'email_event')
        await blocker.query(`lock table rowpost.${table} in access exclusive mode`);
      const relay = new pg.Pool({ connectionString: db.url, max: 1 });
      relay.on('error', () => undefined).on('connect', (client) => client.on('error', () => undefined));
      const killed = countDeliveries(relay).then(
        () => 'counted',
        () => 'killed',
      );
      await waitFor(`a wait for ${table}`, async () => {
        const { rowCount } = await pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'`,
        );
        return rowCount === 1;
      });
      expect(await killed, table).to.equal('killed');
      await blocker.query('rollback');
      await Promise.all([blocker.end(), relay.end()]);
      await Promise.all([countDeliveries(pool), countDeliveries(pool), happen(random)]);
      await countDeliveries(pool);
      await requireExact(table);
    }
  });

  it('join by hash, although the planner knows nothing of the rows yet', async () => {
    const client = await pool.connect();
    await client.query('begin');
    await client.query(LOCK);
    await client.query(`prepare counting as ${COUNT}`);
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain execute counting('{${tenants.join(', ')}}', array[date_trunc('hour', now(), 'UTC')],
         date_trunc('hour', now(), 'UTC'), now())`,
    );
    await client.query('rollback');
    client.release();
    const joins = rows.flatMap(
      (row) => /((?:Merge|Hash|Nested Loop).*?)\s+\(cost/.exec(row['QUERY PLAN'])?.[1] ?? [],
    );
    expect(joins.filter((join) => /^Hash (Left|Right) Join/.test(join)).length).to.be.greaterThan(2);
    expect(joins.filter((join) => /Merge|Nested/.test(join))).to.deep.equal([]);
  });

  it('are not due again for a lease', async () => {
    await countDeliveries(pool);
    await pool.query(`update rowpost.delivery set due = now(), next_attempt = now(), lost = lost + 1`);
    const { rowCount } = await pool.query('select from rowpost.delivery_count_due');
    expect(rowCount).to.equal(0);
  });
});
