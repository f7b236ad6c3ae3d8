import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { WebFixture } from '../../api/webFixture.js';
import { insertSentDeliveries, Reporter } from '../../delivery/webhook.js';
import { cpuTimer } from '../../support/cpuTime.js';
import { waitFor } from '../../support/waitFor.js';

const SET_KEY =
  'mutation ($key: String) { Utility { set_email_webhook_key(verification_key: $key) { url } } }';
const MAX_EVENTS = 5_000;
const REPORTS = 8;

interface Sender {
  readonly root: string;
  /** Sends this text, signed likewise. */
  send(body: string): Promise<number>;
  /** Sends a report of so many complaints, signed as the tenant has said that its reports are. */
  report(events: number): Promise<number>;
}

describe('attack: a flood of reports that a tenant signs itself', () => {
  let fixture: WebFixture;
  let hostile: Sender;
  let other: Sender;
  let made = 0;

  before(async () => {
    fixture = await WebFixture.start({ env: { PG_POOL: '24' } });
    hostile = await createSender('hostile');
    other = await createSender('other');
  });
  after(() => fixture.stop());

  const createSender = async (name: string): Promise<Sender> => {
    const { tenantid } = await fixture.createTenant(name);
    const { access_token: root } = await fixture.signIn(tenantid);
    const reporter = new Reporter();
    const { errors } = await fixture.control(root, SET_KEY, { key: reporter.verificationKey });
    expect(errors).to.equal(undefined);
    const [deliveryid] = await insertSentDeliveries(fixture.testDatabase.database, tenantid, 1);
    const timestamp = Math.floor(Date.now() / 1000) - 10;
    const eventOf = (id: number): object => ({
      event: 'spamreport',
      sg_event_id: `e${id}`,
      deliveryid,
      email: `a${id}@example.com`,
      timestamp,
    });
    const send = async (body: string): Promise<number> => {
      const init = { method: 'POST', headers: reporter.sign(body), body };
      return (await fixture.fetch(`/events/sendgrid/${tenantid}`, init)).status;
    };
    return {
      root,
      send,
      report: (events) => send(JSON.stringify(Array.from({ length: events }, () => eventOf(++made)))),
    };
  };

  it('is recorded one by one, so that the reports of others overtake it', async () => {
    let recorded = 0;
    const flood = Array.from({ length: REPORTS }, async () => {
      const status = await hostile.report(MAX_EVENTS);
      recorded += 1;
      return status;
    });
    await waitFor('the first report of the flood', () => recorded > 0);
    const before = recorded;
    expect(await other.report(1)).to.equal(204);
    expect(recorded - before, 'reports of the flood recorded meanwhile').to.be.below(4);
    // One that waited too long is sent again by its provider.
    for (const status of await Promise.all(flood)) expect(status).to.be.oneOf([204, 503]);
  });

  it('is parsed in turn with the requests of others, however long that takes', async () => {
    // Each takes a third of a second.
    const body = `[{"a":[${'1.0,'.repeat(500_000)}1]}]`;
    let isOver = false;
    const flood = Array.from({ length: 4 }, async () => {
      while (!isOver) expect(await hostile.send(body)).to.be.oneOf([204, 503]);
    });
    // The CPU time of all that ran before the response did.
    const times: number[] = [];
    while (times.length < 15) {
      const cpuMs = cpuTimer();
      const { errors } = await fixture.graphql('/query', other.root, '{ __typename }');
      expect(errors).to.equal(undefined);
      times.push(cpuMs());
      await delay(100);
    }
    isOver = true;
    await Promise.all(flood);
    times.sort((a, b) => a - b);
    expect(times[11], times.map(Math.round).join(' ')).to.be.below(50);
  });

  it('has at most as many events as a report of SendGrid', async () => {
    expect(await hostile.report(MAX_EVENTS + 1)).to.equal(413);
  });
});
