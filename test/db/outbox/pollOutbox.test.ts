import { expect } from 'chai';
import pg from 'pg';
import type { Ledger } from '../../../src/db/pool/ledgerPool.js';
import { adoptRestoredDump } from '../../../src/db/outbox/restoredDump.js';
import { pollOutbox, type Poll } from '../../../src/db/outbox/pollOutbox.js';
import { waitFor } from '../../support/waitFor.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { createRule, createTenant, writeEvents, type TestTenant } from '../../delivery/pipelineSetup.js';
import { knexOf } from '../../support/knexOf.js';

const INSERT = `insert into rowpost.outbox (tenantid, roleid, operation, target, key)
  select $1, 1, 'insert', 'customer', '{}' from generate_series(1, $2::int) returning eventid`;

describe('delivery: the relay finds each committed event once', () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let tenant: TestTenant;

  beforeEach(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
    tenant = await createTenant(db.database);
    await createRule(db.database, tenant);
  });
  afterEach(async () => {
    await db.drop();
  });

  const pollOnce = (limits = {}): Promise<Poll> =>
    pollOutbox(ledger, { batchEvents: 10, pollEvents: 100, ...limits });
  const batchedIds = async (): Promise<string[]> => {
    const { rows } = await db.database.pool.query<{ id: string }>(
      'select unnest(eventids)::text as id from rowpost.relay_batch order by 1',
    );
    return rows.map((row) => row.id).sort((a, b) => Number(a) - Number(b));
  };
  const openTransaction = async (events: number) => {
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    await client.query('begin');
    const { rows } = await client.query<{ eventid: string }>(INSERT, [tenant.tenantid, events]);
    return {
      ids: rows.map((row) => row.eventid),
      async end(how: 'commit' | 'rollback') {
        await client.query(how);
        await client.end();
      },
    };
  };

  it('batches committed events by tenant and size, each once', async () => {
    const other = await createTenant(db.database);
    await createRule(db.database, other);
    await writeEvents(db.database, tenant, 25);
    await writeEvents(db.database, other, 3);
    const first = await pollOnce();
    expect(first).to.include({ events: 28, more: false, restored: false });
    // One batch of each tenant first, then the next ones.
    expect(first.batches.map((batch) => [batch.tenantid, batch.events])).to.deep.equal([
      [tenant.tenantid, 10],
      [other.tenantid, 3],
      [tenant.tenantid, 10],
      [tenant.tenantid, 5],
    ]);
    expect(await pollOnce()).to.deep.include({ events: 0, batches: [] });
    await writeEvents(db.database, tenant, 1);
    expect((await pollOnce()).batches).to.have.length(1);
  });

  it('passes over events that no enabled rule can match', async () => {
    const silent = await createTenant(db.database);
    await writeEvents(db.database, silent, 5);
    await writeEvents(db.database, tenant, 5, { operation: 'delete' });
    await writeEvents(db.database, tenant, 5, { target: 'elsewhere' });
    await knexOf(db.database)('rowpost.email_rule').update({ enabled: false });
    await writeEvents(db.database, tenant, 5);
    expect(await pollOnce()).to.deep.include({ events: 20, batches: [] });
    await knexOf(db.database)('rowpost.email_rule').update({ enabled: true });
    // What was passed over does not come back.
    expect(await pollOnce()).to.deep.include({ events: 0, batches: [] });
  });

  it('writes no poll when there is nothing new', async () => {
    const count = async () => (await db.database.pool.query('select from rowpost.relay_poll')).rowCount;
    const before = await count();
    for (let i = 0; i < 5; i++) await pollOnce();
    expect(await count()).to.equal(before);
  });

  it('finds transactions that commit out of order, and none that rolled back', async () => {
    const slow = await openTransaction(2);
    const doomed = await openTransaction(2);
    await writeEvents(db.database, tenant, 3);
    expect((await pollOnce()).events).to.equal(3);
    await writeEvents(db.database, tenant, 1);
    expect((await pollOnce()).events).to.equal(1);
    await doomed.end('rollback');
    expect((await pollOnce()).events).to.equal(0);
    await slow.end('commit');
    expect((await pollOnce()).events).to.equal(2);
    expect((await pollOnce()).events).to.equal(0);
    expect(await batchedIds()).to.include.members(slow.ids);
    expect(await batchedIds()).to.not.include.members(doomed.ids);
  });

  it('reads a backlog in polls of bounded size, across transactions still running', async () => {
    const early = await openTransaction(4);
    for (let i = 0; i < 30; i++) await writeEvents(db.database, tenant, 10);
    const late = await openTransaction(4);
    for (let i = 0; i < 5; i++) await writeEvents(db.database, tenant, 10);
    const sizes: number[] = [];
    for (let more = true; more;) {
      const result = await pollOnce({ pollEvents: 45 });
      sizes.push(result.events);
      more = result.more;
      if (sizes.length === 3) await early.end('commit');
    }
    expect(sizes.reduce((sum, size) => sum + size)).to.equal(354);
    expect(Math.max(...sizes)).to.be.at.most(54);
    await late.end('commit');
    expect((await pollOnce()).events).to.equal(4);
    const ids = await batchedIds();
    expect(ids).to.have.length(358);
    expect(new Set(ids).size).to.equal(358);
  });

  it('takes one transaction larger than a poll as a whole', async () => {
    await writeEvents(db.database, tenant, 300);
    await writeEvents(db.database, tenant, 5);
    expect(await pollOnce({ pollEvents: 50 })).to.include({ events: 300, more: true });
    expect(await pollOnce({ pollEvents: 50 })).to.include({ events: 5, more: false });
  });

  it('loses and repeats nothing with several relays, and writers that commit and roll back at random', async () => {
    const committed: string[] = [];
    let writing = true;
    const polling = Array.from({ length: 3 }, async () => {
      while (writing) await pollOutbox(ledger, { batchEvents: 7, pollEvents: 40 });
    });
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let i = 0; i < 40; i++) {
        const transaction = await openTransaction(1 + ((i * 7 + writer) % 5));
        if (i % 3 === 0) await new Promise((resolve) => setTimeout(resolve, (i * 13 + writer * 5) % 17));
        const commits = (i + writer) % 4 !== 0;
        await transaction.end(commits ? 'commit' : 'rollback');
        if (commits) committed.push(...transaction.ids);
      }
    });
    await Promise.all(writers);
    writing = false;
    await Promise.all(polling);
    while ((await pollOnce()).events > 0);
    expect(await batchedIds()).to.deep.equal(committed.sort((a, b) => Number(a) - Number(b)));
  });

  it('goes on after a dump was restored into a cluster with lower transaction ids', async () => {
    await writeEvents(db.database, tenant, 2);
    await pollOnce();
    await writeEvents(db.database, tenant, 3);
    // As a restore leaves them: ids of another cluster, far ahead of this one's.
    await db.database.pool.query(`update rowpost.outbox set xid = (xid::text::bigint + 1000000)::text::xid8`);
    await db.database.pool.query(
      `update rowpost.relay_poll set snapshot = '1000900:1000900:' where previous <> 0`,
    );
    const found = await pollOnce();
    expect(found).to.include({ restored: true, events: 0 });
    const adopted = await adoptRestoredDump(ledger, 10);
    expect(adopted?.map(({ events }) => events)).to.deep.equal([3]);
    expect(await batchedIds()).to.deep.equal(['1', '2', '3', '4', '5']);
    expect(await pollOnce()).to.include({ restored: false, events: 0 });
    expect(await adoptRestoredDump(ledger, 10)).to.equal(undefined);
    await writeEvents(db.database, tenant, 1);
    expect((await pollOnce()).events).to.equal(1);
    expect(await batchedIds()).to.have.length(6);
  });

  it('finds events of a restored dump whose transaction ids alone are ahead', async () => {
    await pollOnce();
    await writeEvents(db.database, tenant, 3);
    await db.database.pool.query(`update rowpost.outbox set xid = (xid::text::bigint + 1000000)::text::xid8`);
    expect(await pollOnce()).to.include({ restored: false, events: 0 });
    expect(await adoptRestoredDump(ledger, 10)).to.have.length(1);
    expect(await batchedIds()).to.deep.equal(['1', '2', '3']);
  });

  it('finds what commits while a restored dump is adopted', async () => {
    await writeEvents(db.database, tenant, 2);
    await pollOnce();
    await writeEvents(db.database, tenant, 1);
    await db.database.pool.query(`update rowpost.outbox set xid = (xid::text::bigint + 1000000)::text::xid8`);
    await db.database.pool.query(
      `update rowpost.relay_poll set snapshot = '1000900:1000900:' where previous <> 0`,
    );
    // Holds the adoption up at the last event, in the midst of its statements.
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    await client.query('begin');
    await client.query('select from rowpost.outbox where eventid = 3 for update');
    const adopting = adoptRestoredDump(ledger, 10);
    await waitFor('the adoption to wait', async () => {
      const { rows } = await db.database.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    });
    await writeEvents(db.database, tenant, 2);
    await client.query('rollback');
    await client.end();
    await adopting;
    while ((await pollOnce()).events > 0);
    expect(await batchedIds()).to.deep.equal(['1', '2', '3', '4', '5']);
  });
});
