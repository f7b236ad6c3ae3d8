import { expect } from 'chai';
import { countDeliveries } from '../../src/db/ledger/countDeliveries.js';
import { ConsoleShop } from '../api/consoleShop.js';
import { at, codeOf, PXADMIN_PASSWORD, type Json } from '../api/webFixture.js';

const STATISTICS = `query ($days: Int, $limit: Int, $names: [String!]) { Utility { statistics(days: $days) {
  counted since compared_until late accepted_p50_seconds accepted_p95_seconds
  statuses { status deliveries compared before } times { time status deliveries } carriers { carrier status deliveries }
  causes { status error_code deliveries }
  email_types(limit: $limit) { name deliveries newest statuses { status deliveries } days }
  rules(names: $names) { name deliveries days } } } }`;
const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;
/** As PostgreSQL writes full seconds. */
const text = (ms: number): string => new Date(ms).toISOString().replace('.000Z', '+00:00');

describe('statistics', () => {
  let shop: ConsoleShop;
  let order: string;
  before(async () => {
    shop = await ConsoleShop.open();
    order = await shop.changeOrder(7, 'new', 'paid');
  });
  after(() => shop.close());

  const read = async (days: number, variables: Json = {}): Promise<Json> => {
    await countDeliveries(shop.fixture.testDatabase.database.pool);
    const { data, errors } = await shop.fixture.control(shop.root, STATISTICS, { days, ...variables });
    expect(errors).to.equal(undefined);
    return at(data, 'Utility.statistics') as Json;
  };
  const deliverAt = async (time: number, values: Json): Promise<string> =>
    shop.deliver(order, { ...values, createtime: new Date(time) });

  it('are of UTC days, and compared with the same hours as many days before', async () => {
    const now = Date.now();
    const today = Math.floor(now / DAY_MS) * DAY_MS;
    const thisHour = Math.floor(now / HOUR_MS) * HOUR_MS;
    await deliverAt(thisHour, { state: 'sent', sent_time: new Date(thisHour + 1_000), carrier: 'sendgrid' });
    await deliverAt(today - 1, { state: 'sent', sent_time: new Date(today + 4_000), carrier: 'postmark' });
    await deliverAt(today - DAY_MS, { state: 'failed', error_code: 'TEMPLATE_FAILED' });
    await deliverAt(thisHour - 7 * DAY_MS - 1, { state: 'failed', error_code: 'TEMPLATE_FAILED' });
    // In the hour that runs now, a week ago, and before the period to compare with.
    await deliverAt(thisHour - 7 * DAY_MS, { state: 'unknown', email_type: 'other' });
    await deliverAt(today - 13 * DAY_MS - 1, { state: 'unknown', email_type: 'other' });
    const bounced = await deliverAt(today - 6 * DAY_MS, { state: 'sent' });
    await shop.report(bounced, { event: 'bounce' });

    const week = await read(7);
    expect(week).to.deep.include({
      since: text(today - 6 * DAY_MS),
      compared_until: text(thisHour),
      late: 0,
      carriers: [
        { carrier: 'postmark', status: 'sent', deliveries: 1 },
        { carrier: 'sendgrid', status: 'sent', deliveries: 1 },
      ],
      causes: [
        { status: 'bounced', error_code: '', deliveries: 1 },
        { status: 'failed', error_code: 'TEMPLATE_FAILED', deliveries: 1 },
      ],
    });
    expect(week['statuses']).to.deep.equal([
      { status: 'sent', deliveries: 2, compared: 1, before: 0 },
      { status: 'bounced', deliveries: 1, compared: 1, before: 0 },
      { status: 'failed', deliveries: 1, compared: 1, before: 1 },
      { status: 'unknown', deliveries: 0, compared: 0, before: 0 },
    ]);
    expect(week['times']).to.deep.include({
      time: text(today - DAY_MS),
      status: 'failed',
      deliveries: 1,
    });
    // 1 and 4.001 seconds.
    expect(week['accepted_p50_seconds']).to.be.closeTo(1, 0.05);
    expect(week['accepted_p95_seconds']).to.be.closeTo(4.001, 0.2);
    expect(week['email_types']).to.deep.equal([
      {
        name: 'confirmation',
        deliveries: 4,
        newest: text(thisHour),
        statuses: [
          { status: 'sent', deliveries: 2 },
          { status: 'bounced', deliveries: 1 },
          { status: 'failed', deliveries: 1 },
        ],
        days: [1, 0, 0, 0, 0, 2, 1],
      },
    ]);
    const day = await read(1, { names: [shop.ruleid] });
    expect(day['statuses']).to.deep.include({ status: 'sent', deliveries: 1, compared: 0, before: 0 });
    expect(day['rules']).to.deep.equal([{ name: shop.ruleid, deliveries: 1, days: [1] }]);
    const month = await read(31);
    expect((month['email_types'] as Json[]).map(({ name, deliveries }) => [name, deliveries])).to.deep.equal([
      ['confirmation', 5],
      ['other', 2],
    ]);
  });

  it('name what has waited since before the last full hour', async () => {
    await deliverAt(Date.now() - 3 * HOUR_MS, { state: 'pending' });
    await deliverAt(Date.now(), { state: 'retrying', error_code: 'CARRIER_UNAVAILABLE' });
    expect((await read(1))['late']).to.equal(1);
  });

  it('are for roles that see deliveries, of their own tenant, and within limits', async () => {
    const { fixture, tenantid } = shop;
    const tokenOf = async (tenant: number, login: string, password: string): Promise<string> =>
      (await fixture.signIn(tenant, login, password)).access_token;
    const other = await fixture.createTenant('third');
    const asOther = await fixture.signIn(other.tenantid);
    const nothing = await fixture.control(asOther.access_token, STATISTICS, { days: 30 });
    expect(at(nothing.data, 'Utility.statistics')).to.deep.include({
      statuses: [],
      times: [],
      email_types: [],
      rules: [],
    });
    const viewer = await tokenOf(tenantid, 'viewer', 'secret of the clerk');
    const seen = await fixture.control(viewer, STATISTICS, { days: 30 });
    expect(at(seen.data, 'Utility.statistics.statuses')).not.to.deep.equal([]);
    const clerk = await tokenOf(tenantid, 'clerk', 'secret of the clerk');
    expect(codeOf(await fixture.control(clerk, STATISTICS, { days: 1 }))).to.equal('PERMISSION_DENIED');
    for (const variables of [{ days: 0 }, { days: 32 }, { limit: 101 }, { names: ['1 or true'] }])
      expect(codeOf(await fixture.control(viewer, STATISTICS, { days: 1, ...variables }))).to.equal(
        'BAD_USER_INPUT',
      );
  });

  it('of the installation list tenants and processes, for pxadmin only', async () => {
    const query = `{ Utility { installation_statistics {
      tenants { tenantid name deliveries statuses { status deliveries } } processes { name version connections } } } }`;
    await read(1);
    expect(codeOf(await shop.fixture.control(shop.root, query))).to.equal('PERMISSION_DENIED');
    const { data } = await shop.fixture.control(
      (await shop.fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token,
      query,
    );
    const [first] = at(data, 'Utility.installation_statistics.tenants') as Json[];
    expect(first).to.deep.include({ tenantid: shop.tenantid, name: 'shop' });
  });
});
