import { expect } from 'chai';
import { runRowpost } from '../../support/rowpostProcess.js';
import { createTestRedis } from '../../support/testRedis.js';
import { waitFor } from '../../support/waitFor.js';
import {
  createFleet,
  createOrders,
  emailsPerOrder,
  setUpConfirmations,
  type Fleet,
} from '../../processes/fleet.js';

const ALARM_SECONDS = 2;

interface Ready {
  readonly status: string;
  readonly down: readonly string[];
  readonly overdue?: readonly { readonly place: string; readonly count: number }[];
}

describe('lost workers', () => {
  let fleet: Fleet;
  let relayUrl: string;

  before(async () => {
    fleet = await createFleet({
      postgres: 18,
      redisUrl: await createTestRedis(),
      // The carrier of the tests does not respond to the doctor, who waits that long.
      settings: { BACKLOG_ALARM_SECONDS: String(ALARM_SECONDS), SEND_DEADLINE_MS: '1000' },
    });
    await fleet.start('web');
    const relay = await fleet.start('relay', { HEALTH_PORT: '0' });
    relayUrl = `http://127.0.0.1:${/"healthPort":(\d+)/.exec(relay.log())?.[1] ?? ''}`;
    await setUpConfirmations(fleet);
  });
  after(() => fleet.stop());

  const readiness = async (): Promise<{ code: number; body: Ready }> => {
    const response = await fetch(`${fleet.web().baseUrl}/readyz`);
    return { code: response.status, body: (await response.json()) as Ready };
  };
  const figure = async (name: string): Promise<number> => {
    const text = await (await fetch(`${fleet.web().baseUrl}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };
  const backlogLine = async (): Promise<{ code: number | null; line: string }> => {
    const { code, stdout } = await runRowpost(['doctor'], fleet.env);
    return { code, line: /^. backlog.*$/m.exec(stdout)?.[0] ?? stdout };
  };

  it('are reported by /readyz, the metrics and the doctor, and mutations still commit', async () => {
    expect(await readiness()).to.deep.equal({ code: 200, body: { status: 'ok', down: [] } });
    await createOrders(fleet, 5);
    const committedAtMs = performance.now();
    const { code, body } = await waitFor('the alarm', async () => {
      const response = await readiness();
      return response.body.overdue && response;
    });
    const rangAfter = (performance.now() - committedAtMs) / 1000;
    expect(rangAfter).to.be.within(ALARM_SECONDS - 1, ALARM_SECONDS + 30);
    expect(code, 'a load balancer keeps the web process').to.equal(200);
    expect(body.overdue?.map(({ place }) => place)).to.deep.equal(['batches']);
    await waitFor(
      'the metric',
      async () => (await figure('rowpost_batches_waiting_seconds')) > ALARM_SECONDS,
    );
    const amiss = await backlogLine();
    expect(amiss.line).to.match(/^✗ backlog +\d+ batches of events wait, the oldest for \d+ s → /);
    expect(amiss.code).to.equal(1);
    await fleet.request(
      '/query',
      'mutation { create_orders(input: { order_id: 6, customer_id: 1 }) { order_id } }',
    );

    await fleet.start('worker');
    await waitFor('every email', () => emailsPerOrder(fleet).size === 6);
    await waitFor('the end of the alarm', async () => !(await readiness()).body.overdue);
    await waitFor('the relay', async () => (await fetch(`${relayUrl}/readyz`)).status === 200);
    expect(await (await fetch(`${relayUrl}/metrics`)).text()).to.match(
      /^rowpost_outbox_poll_seconds_count [1-9]/m,
    );
    expect((await backlogLine()).line).to.match(/^✓ backlog +0 events, 0 batches and 0 deliveries wait/);
  });
});
