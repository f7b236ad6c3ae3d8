import { expect } from 'chai';
import { WebFixture } from '../api/webFixture.js';

describe('/metrics: figures of the ledger', () => {
  let fixture: WebFixture;
  before(async () => (fixture = await WebFixture.start()));
  after(() => fixture.stop());

  it('cover waiting and held deliveries', async () => {
    const { tenantid } = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    const { pool } = fixture.testDatabase.database;
    await pool.query(
      `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, createtime,
         state, tracked, due)
       select $1, i, 1, 'welcome', 'insert', 'customer', '{}', 'at_least_once', now() - interval '90 seconds', state, true,
         case state when 'pending' then now() end
       from (values (1, 'pending'), (2, 'pending'), (3, 'paused'), (4, 'sent')) as d(i, state)`,
      [tenantid],
    );
    await pool.query(
      `insert into rowpost.rule_firing (createtime, ruleid, record, fired, tripped) values
         (date_trunc('minute', now()), 1, 1, 99, true), (date_trunc('minute', now()), 1, 2, 5, false),
         (date_trunc('minute', now()) - interval '1 minute', 1, 1, 99, true),
         (now() - interval '1 hour', 1, 3, 99, true)`,
    );
    await pool.query(
      `insert into rowpost.relay_batch (tenantid, eventids, mintime, maxtime, createtime)
       values ($1, '{1}', now() - interval '2 hours', now(), now()), ($1, '{2}', now(), now(), now())`,
      [tenantid],
    );
    const text = await (await fixture.fetch('/metrics')).text();
    const figure = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    expect(figure('rowpost_deliveries_waiting')).to.equal(2);
    expect(figure('rowpost_deliveries_waiting_seconds')).to.be.within(89, 120);
    expect(figure('rowpost_deliveries_paused')).to.equal(1);
    expect(figure('rowpost_deliveries_scheduled')).to.equal(0);
    expect(figure('rowpost_batches_waiting')).to.equal(2);
    expect(figure('rowpost_batches_waiting_seconds')).to.be.within(7_199, 7_230);
    expect(figure('rowpost_events_unread')).to.equal(0);
    expect(figure('rowpost_loops_tripped')).to.equal(1);
  });
});
