import { expect } from 'chai';
import { pino } from 'pino';
import { queueFailures, queueRoundTrips } from '../../src/foundation/observability/metrics.js';
import { watchQueue } from '../../src/queue/queueWatch.js';
import { waitFor } from '../support/waitFor.js';

describe('watching the queue', () => {
  it('logs the beginning and the end of an outage and each reason once, and times the responses', async () => {
    const lines: { msg: string }[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as { msg: string }) });
    const countOf = async (metric: {
      get(): Promise<{ values: { value: number; metricName?: string }[] }>;
    }) =>
      (await metric.get()).values.findLast(({ metricName = '' }) => !metricName.endsWith('_sum'))?.value ?? 0;
    const before = { failures: await countOf(queueFailures), responses: await countOf(queueRoundTrips) };
    let works = false;
    let reason = 'ECONNREFUSED';
    const check = (): Promise<void> => (works ? Promise.resolve() : Promise.reject(new Error(reason)));
    const watch = watchQueue({ check }, log, 1);
    try {
      await waitFor('some failures', async () => (await countOf(queueFailures)) > before.failures + 3);
      reason = 'wrong policy';
      const failures = await countOf(queueFailures);
      await waitFor('more failures', async () => (await countOf(queueFailures)) > failures + 3);
      works = true;
      await waitFor('some responses', async () => (await countOf(queueRoundTrips)) > before.responses + 3);
    } finally {
      await watch.stop();
    }
    expect(lines.map(({ msg }) => msg)).to.deep.equal([
      'the queue is not responding',
      'the queue is still not responding',
      'the queue has recovered',
    ]);
  });
});
