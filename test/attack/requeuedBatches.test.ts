import { expect } from 'chai';
import type { Batch } from '../../src/db/outbox/batches.js';
import { Admission } from '../../src/relay/admission.js';
import { cpuTimer } from '../support/cpuTime.js';

const ADMITTED = 200;
const HELD = 50_000;

/** Each batch that could not be queued copied all that its tenant had waiting: an outage of the queue kept the relay busy for seconds at a time. */
describe('attack: a backlog while the queue is unavailable', () => {
  it('is not copied for each batch that returns, and keeps its order', () => {
    const admission = new Admission({ min: ADMITTED, max: ADMITTED });
    const all = Array.from({ length: ADMITTED + HELD }, (_, index): Batch => ({
      tenantid: 1,
      batchid: String(index),
      events: 1,
      createtime: '2026-01-01',
    }));
    const ids = (batches: readonly Batch[]): string[] => batches.map(({ batchid }) => batchid);
    const admitted = admission.offer(all);
    expect(admitted).to.have.length(ADMITTED);
    const elapsedMs = cpuTimer();
    admission.requeue(admitted);
    expect(elapsedMs()).to.be.below(200);
    expect(ids(admission.recount(new Map(), []))).to.deep.equal(ids(admitted));
  });
});
