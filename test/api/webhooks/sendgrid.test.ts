import { expect } from 'chai';
import { systemClock } from '../../../src/foundation/clock.js';
import { maintainPartitions } from '../../../src/relay/retention.js';
import { at, codeOf, WebFixture, type Json } from '../webFixture.js';
import { testLog } from '../../support/testConfig.js';
import { insertSentDeliveries, Reporter, sendgridEvent, type GivenEvent } from '../../delivery/webhook.js';

const SET_KEY = `mutation ($key: String) { Utility { set_email_webhook_key(verification_key: $key) {
  url verification_key set_time } } }`;
const EVENTS = `query ($filter: String) { email_delivery(filter: $filter) { deliveryid state
  email_event_collection { event time recipient reason status type url } } }`;
const HOUR_SECONDS = 3600;

/** From the provider's own libraries: a key, a body and the signature of it. */
const PUBLISHED = {
  key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
  signature:
    'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
  body: `${JSON.stringify([
    {
      email: 'hello@world.com',
      event: 'dropped',
      reason: 'Bounced Address',
      sg_event_id: 'ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA',
      sg_message_id: 'LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0',
      'smtp-id': '<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>',
      timestamp: 1600112492,
    },
  ])}\r\n`,
};

describe('SendGrid webhooks', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let root: string;
  let nowMs = Date.now();
  const reporter = new Reporter();

  before(async () => {
    fixture = await WebFixture.start({ clock: { now: () => nowMs } });
    tenantid = (await fixture.createTenant('shop', 'create table customer (id int primary key)')).tenantid;
    root = (await fixture.signIn(tenantid)).access_token;
    const set = await fixture.control(root, SET_KEY, { key: reporter.verificationKey });
    expect(set.errors).to.equal(undefined);
  });
  beforeEach(() => (nowMs = Date.now()));
  after(() => fixture.stop());

  const post = (body: string | Buffer, headers: Record<string, string>, tenant: number | string = tenantid) =>
    fixture.fetch(`/events/sendgrid/${tenant}`, {
      method: 'POST',
      body: new Uint8Array(Buffer.from(body)),
      headers,
    });
  const report = async (events: readonly unknown[]): Promise<number> => {
    // As the provider sends it, with a line break at the end: what is signed are bytes.
    const body = `${JSON.stringify(events)}\r\n`;
    return (await post(body, reporter.sign(body))).status;
  };
  const refusal = async (response: Response): Promise<unknown> => {
    const { status, code } = (await response.json()) as { status: number; code: string };
    expect(status).to.equal(response.status);
    return [status, code];
  };
  const countEvents = async (): Promise<number> => {
    const { rows } = await fixture.testDatabase.database.pool.query<{ count: number }>(
      'select count(*)::int as count from rowpost.email_event',
    );
    return rows[0]!.count;
  };
  const deliver = async (): Promise<string> =>
    (await insertSentDeliveries(fixture.testDatabase.database, tenantid, 1))[0]!;
  const eventsOf = async (deliveryid: string): Promise<Json[]> => {
    const { data } = await fixture.control(root, EVENTS, { filter: `deliveryid = ${deliveryid}` });
    return at(data, 'email_delivery.0.email_event_collection') as Json[];
  };
  const metric = async (outcome: string, event = ''): Promise<number> => {
    const text = await (await fixture.fetch('/metrics')).text();
    const found = text.matchAll(
      new RegExp(`^rowpost_email_events_total\\{outcome="${outcome}"[^}]*${event}[^}]*\\} (\\d+)`, 'gm'),
    );
    return [...found].reduce((sum, [, count]) => sum + Number(count), 0);
  };

  describe('set_email_webhook_key', () => {
    it('returns the webhook URL, and accepts the key as SendGrid displays it', async () => {
      const pem = `-----BEGIN PUBLIC KEY-----\n${reporter.verificationKey}\n-----END PUBLIC KEY-----\n`;
      for (const key of [reporter.verificationKey, pem]) {
        const { data } = await fixture.control(root, SET_KEY, { key });
        expect(at(data, 'Utility.set_email_webhook_key')).to.include({
          url: `http://localhost:8080/events/sendgrid/${tenantid}`,
          verification_key: reporter.verificationKey,
        });
      }
      const { data } = await fixture.control(
        root,
        '{ Utility { email_webhook { verification_key set_time } } }',
      );
      expect(at(data, 'Utility.email_webhook.verification_key')).to.equal(reporter.verificationKey);
      expect(at(data, 'Utility.email_webhook.set_time')).to.be.a('string');
    });

    it('rejects an invalid key', async () => {
      for (const key of ['', 'SG.apikey', 'AAAA', reporter.verificationKey.slice(0, -12)]) {
        expect(codeOf(await fixture.control(root, SET_KEY, { key })), key).to.equal('BAD_USER_INPUT');
      }
    });

    it('refuses all reports once the key is removed', async () => {
      const other = await fixture.createTenant('without a key');
      const token = (await fixture.signIn(other.tenantid)).access_token;
      await fixture.control(token, SET_KEY, { key: reporter.verificationKey });
      expect((await post('[]', reporter.sign('[]'), other.tenantid)).status).to.equal(204);
      const { data } = await fixture.control(token, SET_KEY, { key: null });
      expect(at(data, 'Utility.set_email_webhook_key.verification_key')).to.equal(null);
      expect((await post('[]', reporter.sign('[]'), other.tenantid)).status).to.equal(403);
    });
  });

  describe('the signature', () => {
    it('is required, whether or not the tenant exists', async () => {
      for (const missing of ['signature', 'timestamp']) {
        const name = `x-twilio-email-event-webhook-${missing}`;
        const headers = Object.fromEntries(
          Object.entries(reporter.sign('[]')).filter(([header]) => header !== name),
        );
        for (const tenant of [tenantid, 999_999, 'nobody']) {
          expect(await refusal(await post('[]', headers, tenant))).to.deep.equal([
            401,
            'EVENT_SIGNATURE_MISSING',
          ]);
        }
      }
    });

    it('must match, to the byte', async () => {
      const deliveryid = await deliver();
      const body = JSON.stringify([sendgridEvent({ event: 'delivered', deliveryid })]);
      const signed = reporter.sign(body);
      const later = String(Math.floor(Date.now() / 1000) + 1);
      const forged: [string, Record<string, string>][] = [
        [`${body} `, signed],
        [body.replace('delivered', 'bounce'), signed],
        [body, { ...signed, 'x-twilio-email-event-webhook-timestamp': later }],
        [body, { ...signed, 'x-twilio-email-event-webhook-signature': 'bm90IGEgc2lnbmF0dXJl' }],
        [body, { ...signed, 'x-twilio-email-event-webhook-signature': '%%%' }],
        [body, new Reporter().sign(body)],
      ];
      for (const [text, headers] of forged) {
        expect(await refusal(await post(text, headers))).to.deep.equal([403, 'EVENT_SIGNATURE_INVALID']);
      }
      expect(await eventsOf(deliveryid)).to.deep.equal([]);
    });

    it('makes a nonexistent tenant indistinguishable from a wrong signature', async () => {
      const other = await fixture.createTenant('no webhook');
      const signed = reporter.sign('[]');
      const responses = await Promise.all(
        [999_999, 0, other.tenantid, 'nobody', '1e3', '99999999999999999999'].map(async (tenant) =>
          (await post('[]', signed, tenant)).text(),
        ),
      );
      const wrong = await (await post('[]', new Reporter().sign('[]'))).text();
      expect(new Set(responses)).to.deep.equal(new Set([wrong]));
    });

    it("accepts the provider's published example", async () => {
      const { tenantid: example } = await fixture.createTenant('example');
      const token = (await fixture.signIn(example)).access_token;
      await fixture.control(token, SET_KEY, { key: PUBLISHED.key });
      nowMs = 1_600_112_510_000;
      const headers = {
        'x-twilio-email-event-webhook-signature': PUBLISHED.signature,
        'x-twilio-email-event-webhook-timestamp': '1600112502',
      };
      expect((await post(PUBLISHED.body, headers, example)).status).to.equal(204);
      // Its line break is signed as well.
      expect((await post(PUBLISHED.body.trim(), headers, example)).status).to.equal(403);
    });

    it('is accepted for 25 hours, as long as the provider retries', async () => {
      const seconds = Math.floor(nowMs / 1000);
      const response = async (signedAt: number) => post('[]', reporter.sign('[]', signedAt));
      expect((await response(seconds - 24 * HOUR_SECONDS)).status).to.equal(204);
      for (const signedAt of [seconds - 26 * HOUR_SECONDS, seconds + HOUR_SECONDS, Number.NaN]) {
        expect(await refusal(await response(signedAt))).to.deep.equal([403, 'EVENT_SIGNATURE_EXPIRED']);
      }
    });
  });

  describe('a report', () => {
    it('is recorded for its delivery', async () => {
      const deliveryid = await deliver();
      const seconds = Math.floor(nowMs / 1000) - 60;
      const event = (given: GivenEvent): GivenEvent =>
        sendgridEvent({ deliveryid, tenantid: String(tenantid), ...given });
      const clicks = await metric('recorded', 'event="click"');
      const status = await report([
        event({ event: 'click', timestamp: seconds + 3, url: 'https://shop.example.com/?a=1' }),
        event({ event: 'deferred', timestamp: seconds, response: '400 try again later', attempt: '5' }),
        event({ event: 'delivered', timestamp: seconds + 1, response: '250 OK' }),
        event({ event: 'open', timestamp: seconds + 2, useragent: 'Mozilla' }),
        event({ event: 'processed', timestamp: seconds }),
        event({ event: 'unsubscribe', timestamp: seconds + 4 }),
        event({ event: 'group_unsubscribe', timestamp: seconds + 5, asm_group_id: 10 }),
        event({ event: 'group_resubscribe', timestamp: seconds + 6, asm_group_id: 10 }),
      ]);
      expect(status).to.equal(204);
      const time = (after: number) =>
        new Date((seconds + after) * 1000).toISOString().replace('.000Z', '+00:00');
      const base = { recipient: 'ada@example.com', reason: null, status: null, type: null, url: null };
      expect(await eventsOf(deliveryid)).to.deep.equal([
        { ...base, event: 'deferred', time: time(0), reason: '400 try again later' },
        { ...base, event: 'delivered', time: time(1), reason: '250 OK' },
        { ...base, event: 'open', time: time(2) },
        { ...base, event: 'click', time: time(3), url: 'https://shop.example.com/?a=1' },
        { ...base, event: 'unsubscribe', time: time(4) },
        { ...base, event: 'group_unsubscribe', time: time(5) },
        { ...base, event: 'group_resubscribe', time: time(6) },
      ]);
      expect(await metric('recorded', 'event="click"')).to.equal(clicks + 1);
    });

    it('repeated 46 times changes nothing after the first', async () => {
      const deliveryid = await deliver();
      const body = JSON.stringify([sendgridEvent({ event: 'delivered', deliveryid })]);
      const signed = reporter.sign(body);
      const before = await metric('repeated');
      const statuses = await Promise.all(
        Array.from({ length: 46 }, async () => (await post(body, signed)).status),
      );
      expect(new Set(statuses)).to.deep.equal(new Set([204]));
      expect(await eventsOf(deliveryid)).to.have.length(1);
      expect((await metric('repeated')) - before).to.equal(45);
    });

    it('of hundreds of events, split, shuffled and repeated 46 times, counts each event once', async () => {
      const ids = await insertSentDeliveries(fixture.testDatabase.database, tenantid, 200);
      const all = ids.flatMap((deliveryid, index) =>
        ['delivered', 'open', 'click', 'deferred'].map((event) =>
          sendgridEvent({ event, deliveryid, email: `person${index}@example.com` }),
        ),
      );
      const before = await countEvents();
      const startedAt = performance.now();
      for (let round = 0; round < 46; round++) {
        // Two overlapping reports at a time, shuffled.
        const shuffled = [...all].sort(() => Math.random() - 0.5);
        const parts = [shuffled.slice(0, 500), shuffled.slice(300)];
        expect(await Promise.all(parts.map(report))).to.deep.equal([204, 204]);
      }
      expect((await countEvents()) - before).to.equal(all.length);
      expect(performance.now() - startedAt).to.be.below(15_000);
    });

    it('counts an event once however old its delivery, and deletes it along with the delivery', async () => {
      const { database } = fixture.testDatabase;
      const ledger = database.ledger;
      const keep = (): Promise<void> =>
        maintainPartitions(
          { ledger, clock: systemClock, log: testLog },
          { retentionDays: 30, keepEmailDays: 7 },
        );
      await keep();
      const [old] = await insertSentDeliveries(database, tenantid, 1, 20);
      const [expired] = await insertSentDeliveries(database, tenantid, 1, 40);
      const events = [old!, expired!].map((deliveryid) => sendgridEvent({ event: 'open', deliveryid }));
      for (let i = 0; i < 3; i++) expect(await report(events)).to.equal(204);
      expect(await eventsOf(old!)).to.have.length(1);
      expect(await eventsOf(expired!)).to.have.length(1);
      await keep();
      const { rows } = await database.pool.query('select from rowpost.email_event where deliveryid = $1', [
        expired,
      ]);
      expect(rows).to.deep.equal([]);
      // It is not written down again for a delivery that is gone.
      await report(events);
      expect(
        (await database.pool.query('select from rowpost.email_event where deliveryid = $1', [expired])).rows,
      ).to.deep.equal([]);
    });

    it("ignores events of other tenants' deliveries and of unknown emails", async () => {
      const other = await fixture.createTenant('other shop');
      const [theirs] = await insertSentDeliveries(fixture.testDatabase.database, other.tenantid, 1);
      const mine = await deliver();
      const [foreign, ignored, events] = [
        await metric('foreign'),
        await metric('ignored'),
        await countEvents(),
      ];
      expect(
        await report([
          sendgridEvent({ event: 'bounce', type: 'bounce', deliveryid: theirs! }),
          sendgridEvent({
            event: 'bounce',
            type: 'bounce',
            deliveryid: mine,
            tenantid: String(other.tenantid),
          }),
          sendgridEvent({ event: 'bounce', type: 'bounce', deliveryid: '999999999999' }),
          sendgridEvent({ event: 'bounce', type: 'bounce' }),
          sendgridEvent({ event: 'open', deliveryid: "1'; drop table" }),
          sendgridEvent({ event: 'open', deliveryid: '99999999999999999999999' }),
          sendgridEvent({ event: 'open', deliveryid: mine, timestamp: 1e30 }),
          { event: 'open', deliveryid: mine },
          'text',
          null,
          [],
        ]),
      ).to.equal(204);
      expect([await metric('foreign'), await metric('ignored')]).to.deep.equal([foreign + 3, ignored + 8]);
      expect(await countEvents()).to.equal(events);
      const { data } = await fixture.control(root, '{ email_suppression { address } }');
      expect(at(data, 'email_suppression')).to.deep.equal([]);
    });

    it('may contain any text', async () => {
      const deliveryid = await deliver();
      const reason = `nul \0, half a pair \ud800, ${'x'.repeat(5_000)}`;
      expect(
        await report([sendgridEvent({ event: 'deferred', deliveryid, reason, url: 'u'.repeat(9_000) })]),
      ).to.equal(204);
      const [event] = await eventsOf(deliveryid);
      expect(event!['reason'])
        .to.match(/^nul , half a pair \ufffd, x+$/)
        .and.have.length(999);
      expect(event!['url']).to.have.length(2_000);
    });

    it('that is not a list of events is refused after the signature is verified', async () => {
      for (const body of ['', '{', '{}', '"text"', 'null']) {
        expect(await refusal(await post(body, reporter.sign(body))), body).to.deep.equal([
          400,
          'BAD_REQUEST',
        ]);
      }
    });

    it('of 10 MB is refused', async () => {
      const body = JSON.stringify([{ event: 'open', padding: 'x'.repeat(10_000_000) }]);
      const response = await post(body, reporter.sign(body)).catch((error: unknown) => error as Error);
      // The connection is closed without reading it all: a client may see that before the response.
      if (response instanceof Response) {
        expect(await refusal(response)).to.deep.equal([413, 'BODY_TOO_LARGE']);
      }
      expect((await fixture.fetch('/livez')).status).to.equal(200);
    });

    it('accepts POST only', async () => {
      const response = await fixture.fetch(`/events/sendgrid/${tenantid}`);
      expect(response.headers.get('allow')).to.equal('POST');
      expect(await refusal(response)).to.deep.equal([405, 'METHOD_NOT_ALLOWED']);
    });
  });
});
