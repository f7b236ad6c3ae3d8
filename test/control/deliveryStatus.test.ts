import { expect } from 'chai';
import { ConsoleShop } from '../api/consoleShop.js';
import { at, type Json } from '../api/webFixture.js';

/** What carriers report, from what says least to what counts whatever else is reported. */
const REPORTS = [
  ['deferred', 'sent'],
  ['delivered', 'delivered'],
  ['open', 'opened'],
  ['click', 'clicked'],
  ['dropped', 'bounced'],
  ['bounce', 'bounced'],
  ['unsubscribe', 'unsubscribed'],
  ['group_unsubscribe', 'unsubscribed'],
  ['spamreport', 'complained'],
] as const;

/** States in which reports change nothing: the email has not left, or is about to leave again. */
const UNTOUCHED = {
  pending: 'scheduled',
  retrying: 'scheduled',
  sending: 'sending',
  paused: 'held_back',
  skipped: 'held_back',
  failed: 'failed',
} as const;

describe('the status of a delivery', () => {
  let shop: ConsoleShop;
  let order: string;
  before(async () => {
    shop = await ConsoleShop.open();
    order = await shop.changeOrder(7, 'new', 'paid');
  });
  after(() => shop.close());

  const statusOf = async (ids: readonly string[]): Promise<Map<string, string>> => {
    const { data } = await shop.fixture.control(
      shop.root,
      `{ email_delivery(filter: "deliveryid in [${ids.join(', ')}]", limit: 1000) { deliveryid status } }`,
    );
    const rows = at(data, 'email_delivery') as Json[];
    return new Map(rows.map(({ deliveryid, status }) => [String(deliveryid), String(status)]));
  };

  it('is the worst of what was reported, in whatever order, and filters find it', async () => {
    const expected = new Map<string, string>();
    for (let subset = 0; subset < 2 ** REPORTS.length; subset += 1) {
      const reports = REPORTS.filter((_, index) => subset & (1 << index));
      const id = await shop.deliver(order, { state: 'sent', tracked: subset % 2 === 0 });
      if (subset % 2 === 1) await shop.attempt(id, { attempt: 1, outcome: 'sent' });
      const turned = subset % 3 === 0 ? reports : reports.toReversed();
      for (const [index, [event]] of turned.entries())
        await shop.report(id, {
          event,
          provider_event_id: event,
          time: new Date(Date.now() + index * 1000),
        });
      expected.set(id, reports.at(-1)?.[1] ?? 'sent');
    }
    const ids = [...expected.keys()];
    expect(Object.fromEntries(await statusOf(ids))).to.deep.equal(Object.fromEntries(expected));
    for (const status of new Set(expected.values())) {
      const { data } = await shop.fixture.control(
        shop.root,
        `{ email_delivery(filter: "status = '${status}'", limit: 1000) { deliveryid } }`,
      );
      const found = (at(data, 'email_delivery') as Json[]).map(({ deliveryid }) => String(deliveryid));
      expect(found, status).to.have.members(ids.filter((id) => expected.get(id) === status));
    }
  });

  it('follows from the state of what has not left, and of what nobody can tell until it is reported', async () => {
    const expected = new Map<string, string>();
    for (const [state, status] of Object.entries(UNTOUCHED)) {
      const id = await shop.deliver(order, { state });
      await shop.report(id, { event: 'bounce' });
      expected.set(id, status);
    }
    expected.set(await shop.deliver(order, { state: 'unknown' }), 'unknown');
    const arrived = await shop.deliver(order, { state: 'unknown' });
    await shop.report(arrived, { event: 'delivered' });
    expected.set(arrived, 'delivered');
    expect(Object.fromEntries(await statusOf([...expected.keys()]))).to.deep.equal(
      Object.fromEntries(expected),
    );
  });

  it('is not that of the email before, once it was sent again', async () => {
    const id = await shop.deliver(order, { state: 'sent' });
    const [before, again, after] = [-60_000, -30_000, 0].map((ms) => new Date(Date.now() + ms));
    await shop.report(id, { event: 'bounce', provider_event_id: 'before', time: before });
    expect((await statusOf([id])).get(id)).to.equal('bounced');
    await shop.attempt(id, { attempt: 2, outcome: 'redriven', started: again, finished: again });
    expect((await statusOf([id])).get(id)).to.equal('sent');
    await shop.report(id, { event: 'open', provider_event_id: 'after', time: after });
    expect((await statusOf([id])).get(id)).to.equal('opened');
  });

  it('is not that of a text among the recipients that is no address', async () => {
    const id = await shop.deliver(order, { state: 'sent' });
    await shop.report(id, { event: 'dropped', provider_event_id: 'invalid.no-at' });
    expect((await statusOf([id])).get(id)).to.equal('sent');
  });
});
