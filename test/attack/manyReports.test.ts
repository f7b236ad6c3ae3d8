import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { useToken } from '../../src/db/email/carrierWebhooks.js';
import { EVENT_BYTES, recordEmailEvents, type EmailEvent } from '../../src/db/email/emailEvents.js';
import { WebFixture } from '../api/webFixture.js';
import { createTenant } from '../delivery/pipelineSetup.js';
import { insertSentDeliveries, Reporter, sendgridEvent } from '../delivery/webhook.js';
import { fromMailgun, SECRETS } from '../support/carrierReports.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** Whoever has a tenant signs its reports: a few hundred thousand of one delivery were a gigabyte of the database that all share. */
describe('attack: a database full of reports', () => {
  let db: TestDatabase;
  before(async () => {
    db = await createTestDatabase();
  });
  after(() => db.drop());

  let made = 0;
  const eventsOf = (deliveryid: string, event: string, count: number): EmailEvent[] =>
    Array.from({ length: count }, () => ({
      deliveryid,
      providerEventId: `e${++made}`,
      event,
      time: new Date().toISOString(),
      recipient: 'ada@example.com',
      reason: 'x'.repeat(700),
      status: null,
      type: null,
      url: null,
      suppress: null,
    }));
  const storedOf = async (tenantid: number): Promise<{ event: string; events: number; bytes: number }[]> => {
    const { rows } = await db.database.pool.query<{ event: string; events: number; bytes: number }>(
      `select event, count(*)::int as events, sum(octet_length(reason))::int as bytes
       from rowpost.email_event where tenantid = $1 group by 1 order by 1`,
      [tenantid],
    );
    return rows;
  };

  it('has two thousand of a kind for a delivery, and still what matters', async () => {
    const { tenantid } = await createTenant(db.database);
    const [one, other] = await insertSentDeliveries(db.database, tenantid, 2);
    const record = (...events: EmailEvent[]) =>
      recordEmailEvents(db.database.ledger, tenantid, events, EVENT_BYTES);
    const first = eventsOf(one!, 'open', 1_500);
    expect((await record(...first)).recorded.get('open')).to.equal(1_500);
    const next = await record(...eventsOf(one!, 'open', 1_500), ...eventsOf(other!, 'open', 3));
    expect([next.recorded.get('open'), next.excess, next.repeated]).to.deep.equal([503, 1_000, 0]);
    const last = await record(...eventsOf(one!, 'open', 1_500), ...eventsOf(one!, 'spamreport', 1));
    expect([last.recorded.get('open'), last.recorded.get('spamreport'), last.excess]).to.deep.equal([
      0, 1, 1_500,
    ]);
    expect((await storedOf(tenantid)).map(({ events }) => events)).to.deep.equal([2_003, 1]);
  });

  it('has a quota for each tenant, which grows with what it has sent, and not of what a worker finds out', async () => {
    const { ledger, pool } = db.database;
    const { tenantid } = await createTenant(db.database);
    const deliveries = await insertSentDeliveries(db.database, tenantid, 40);
    const quota = 100_000;
    const flood = async (): Promise<number> => {
      let refused = 0;
      for (const deliveryid of deliveries) {
        const result = await recordEmailEvents(ledger, tenantid, eventsOf(deliveryid, 'click', 10), quota);
        refused += result.refused;
      }
      return refused;
    };
    expect(await flood()).to.be.above(200);
    expect((await storedOf(tenantid))[0]!.bytes).to.be.within(60_000, quota);
    await pool.query(
      `insert into rowpost.delivery_count values ($1, date_trunc('hour', now()), 'sent', 'sendgrid', '', 40)`,
      [tenantid],
    );
    await flood();
    expect((await storedOf(tenantid))[0]!.bytes).to.be.within(160_000, quota + 40 * 4_096);
    const own = await recordEmailEvents(ledger, tenantid, eventsOf(deliveries[0]!, 'bounce', 3), null);
    expect(own.recorded.get('bounce')).to.equal(3);
    await pool.query(`update rowpost.email_event_quota set day = day - 1`);
    expect(
      (await recordEmailEvents(ledger, tenantid, eventsOf(deliveries[0]!, 'bounce', 3), quota)).refused,
    ).to.equal(0);
    const { rows } = await pool.query('select from rowpost.email_event_quota where tenantid = $1', [
      tenantid,
    ]);
    expect(rows).to.have.length(1);
  });

  it('has no more signatures that are kept against replays than the quota, though reports are about no delivery', async () => {
    const { pool } = db.database;
    const { tenantid } = await createTenant(db.database);
    const use = (token: string, report = 'report'): Promise<string> =>
      useToken(pool, { tenantid, token, report }, 10_000);
    const used: string[] = [];
    for (let token = 0; token < 50; token++) used.push(await use(String(token)));
    const { rowCount } = await pool.query('select from rowpost.webhook_token where tenantid = $1', [
      tenantid,
    ]);
    expect(rowCount).to.be.within(10, 49);
    expect(used.filter((use) => use === 'own')).to.have.length(rowCount!);
    expect(used.slice(rowCount!).every((use) => use === 'refused')).to.equal(true);
    expect([await use('1'), await use('1', 'another')], 'known ones').to.deep.equal(['own', 'foreign']);
    const { tenantid: other } = await createTenant(db.database);
    expect(await useToken(pool, { tenantid: other, token: '1', report: '' }, 10_000)).to.equal('own');
  });

  it('counts as much for a signature as it takes', async () => {
    const { pool } = db.database;
    const { tenantid } = await createTenant(db.database);
    const numberOf = async (text: string, values: readonly unknown[] = []): Promise<number> =>
      Number((await pool.query<{ number: string }>(text, [...values])).rows[0]!.number);
    const sizeNow = (): Promise<number> =>
      numberOf(`select pg_total_relation_size('rowpost.webhook_token') as number`);
    const before = await sizeNow();
    const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
    for (let token = 0; token < 500; token++)
      await useToken(pool, { tenantid, token: hash(`${token}`), report: hash(`r${token}`) }, EVENT_BYTES);
    const counted = await numberOf(
      'select bytes as number from rowpost.email_event_quota where tenantid = $1',
      [tenantid],
    );
    const grown = (await sizeNow()) - before;
    expect(counted).to.be.within(0.7 * grown, 2 * grown);
  });

  it('refuses a report of Mailgun beyond the quota', async () => {
    const fixture = await WebFixture.start();
    try {
      const { tenantid } = await fixture.createTenant('hostile');
      const { access_token } = await fixture.signIn(tenantid);
      const { errors } = await fixture.control(
        access_token,
        'mutation ($input: email_carrier_webhookInput!) { Utility { set_email_webhook(input: $input) { url } } }',
        { input: { kind: 'mailgun', secret: SECRETS.mailgun } },
      );
      expect(errors).to.equal(undefined);
      const { pool } = fixture.testDatabase.database;
      const report = async (): Promise<number> => {
        const { headers, body } = fromMailgun({});
        return (await fixture.fetch(`/events/mailgun/${tenantid}`, { method: 'POST', headers, body })).status;
      };
      expect(await report()).to.equal(200);
      await pool.query('update rowpost.email_event_quota set bytes = $1', [EVENT_BYTES]);
      expect(await report()).to.equal(429);
    } finally {
      await fixture.stop();
    }
  });

  it('refuses a report beyond the quota with a code, for its carrier to send again, and no report of others', async () => {
    const fixture = await WebFixture.start();
    try {
      const report = async (name: string, used: number): Promise<readonly [number, unknown]> => {
        const { tenantid } = await fixture.createTenant(name);
        const { access_token } = await fixture.signIn(tenantid);
        const reporter = new Reporter();
        await fixture.control(
          access_token,
          'mutation ($key: String) { Utility { set_email_webhook_key(verification_key: $key) { url } } }',
          { key: reporter.verificationKey },
        );
        const { database } = fixture.testDatabase;
        const [deliveryid] = await insertSentDeliveries(database, tenantid, 1);
        await database.pool.query(
          `insert into rowpost.email_event_quota values ($1, (now() at time zone 'UTC')::date, $2)`,
          [tenantid, used],
        );
        const body = JSON.stringify([
          sendgridEvent({ event: 'open', deliveryid: deliveryid!, tenantid: String(tenantid) }),
        ]);
        const response = await fixture.fetch(`/events/sendgrid/${tenantid}`, {
          method: 'POST',
          headers: reporter.sign(body),
          body,
        });
        const text = await response.text();
        return [response.status, text === '' ? undefined : (JSON.parse(text) as { code: string }).code];
      };
      expect(await report('hostile', EVENT_BYTES)).to.deep.equal([429, 'RATE_LIMITED']);
      expect(await report('other', 0)).to.deep.equal([204, undefined]);
    } finally {
      await fixture.stop();
    }
  });
});
