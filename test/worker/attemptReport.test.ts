import { expect } from 'chai';
import { pino } from 'pino';
import { FAILURES_PER_SECOND } from '../../src/foundation/observability/logThrottle.js';
import { deliveryOutcomes, carrierCalls } from '../../src/foundation/observability/metrics.js';
import { createAttemptReport, type AttemptedDelivery } from '../../src/worker/attemptReport.js';

const DELIVERY = {
  tenantid: 7,
  deliveryid: '12',
  ruleid: '3',
  emailType: 'welcome',
  starts: 1,
  createtime: '2026-01-01 00:00:00.5+00',
  startedAtMs: 0,
  new: '{"email":"ada@example.com"}',
  accounts: {
    apikeyEncrypted: 'secret',
    accountsEncrypted: 'secret',
    version: 1,
    pausedCode: null,
    waitUntilMs: null,
  },
  carrier: 'test',
} as unknown as AttemptedDelivery;

describe('the report of attempts', () => {
  const lines: Record<string, unknown>[] = [];
  const report = createAttemptReport({
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
    linesPerSecond: 2,
    now: () => Date.parse('2026-01-01T00:00:01Z'),
  });
  const result = (state: string, errorCode: string | null = null) => ({ state, httpStatus: 202, errorCode });
  const count = async (state: string): Promise<number> =>
    (await deliveryOutcomes.get()).values.find(
      ({ labels }) => labels.carrier === 'test' && labels.state === state,
    )?.value ?? 0;

  beforeEach(() => lines.splice(0));

  it('is one line and one count for each, which name no address and no value', async () => {
    report.ended(DELIVERY, result('sent'));
    expect(lines).to.have.lengthOf(1);
    expect(lines[0]).to.include({
      msg: 'delivery',
      tenantid: 7,
      deliveryid: '12',
      ruleid: '3',
      emailType: 'welcome',
      attempt: 1,
      state: 'sent',
      httpStatus: 202,
    });
    expect(JSON.stringify(lines)).to.not.include('ada@').and.not.include('secret');
    expect(await count('sent')).to.equal(1);
    report.called('test', { kind: 'sent', httpStatus: 202, providerMessageId: null }, performance.now());
    expect(JSON.stringify((await carrierCalls.get()).values)).to.include('"carrier":"test","outcome":"sent"');
  });

  it('leaves lines out at a high rate, and counts all; deliveries that failed for good have a limit of their own', async () => {
    for (let i = 0; i < 50; i++) report.ended(DELIVERY, result('retrying', 'PROVIDER_ERROR'));
    // At most three seconds have gone by.
    expect(lines.filter(({ state }) => state === 'retrying').length).to.be.within(2, 6);
    for (let i = 0; i < 5; i++) report.ended(DELIVERY, result('failed', 'TEMPLATE_FAILED'));
    expect(lines.filter(({ state, level }) => state === 'failed' && level === 40)).to.have.lengthOf(5);
    expect([await count('retrying'), await count('failed')]).to.deep.equal([50, 5]);
    for (let i = 0; i < 500; i++) report.ended(DELIVERY, result('failed', 'TEMPLATE_FAILED'));
    const ofAnother = { ...DELIVERY, tenantid: 8 };
    report.ended(ofAnother, result('failed', 'TEMPLATE_FAILED'));
    const logged = (tenantid: number): number =>
      lines.filter((line) => line['state'] === 'failed' && line['tenantid'] === tenantid).length;
    expect(logged(7)).to.be.within(FAILURES_PER_SECOND / 2, FAILURES_PER_SECOND * 1.5);
    expect(logged(8)).to.equal(1);
    expect(await count('failed')).to.equal(506);
  });
});
