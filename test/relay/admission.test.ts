import { expect } from 'chai';
import type { Batch } from '../../src/db/outbox/batches.js';
import { priorityOf } from '../../src/queue/jobs.js';
import { Admission } from '../../src/relay/admission.js';

let next = 0;
const batch = (tenantid: number, events = 10): Batch => ({
  tenantid,
  batchid: String(++next),
  events,
  createtime: '2026-01-01',
});
const tenants = (batches: readonly Batch[]): number[] => batches.map((each) => each.tenantid);
const NOTHING: ReadonlyMap<number, number> = new Map();
const admissionOf = (limit: number): Admission => new Admission({ min: limit, max: limit });

describe('delivery: admission to the queue', () => {
  it("limits each tenant's deliveries that wait, round-robin", () => {
    const admission = admissionOf(20);
    const offered = [batch(1), batch(1), batch(1), batch(1), batch(2), batch(2), batch(3)];
    expect(tenants(admission.offer(offered))).to.deep.equal([1, 2, 3, 1, 2]);
    expect(admission.offer([batch(1)])).to.deep.equal([]);
    expect(tenants(admission.offer([batch(4)]))).to.deep.equal([4]);
  });

  it('lets more in as the ledger says that there is room', () => {
    const admission = admissionOf(20);
    const first = admission.offer([batch(1), batch(1), batch(1), batch(1)]);
    expect(first.map((each) => each.ahead)).to.deep.equal([0, 10]);
    const done = first;
    expect(admission.recount(new Map([[1, 20]]), done)).to.deep.equal([]);
    expect(tenants(admission.recount(new Map([[1, 15]]), []))).to.deep.equal([1]);
    expect(tenants(admission.recount(NOTHING, []))).to.deep.equal([1]);
  });

  it('lets three times as many wait as were begun since the previous recount, within its limits', () => {
    const admission = new Admission({ min: 20, max: 100 });
    const many = Array.from({ length: 100 }, () => batch(1));
    const admitted = [...admission.offer(many)];
    const next = (waiting: number): number => {
      const more = admission.recount(new Map([[1, waiting]]), admitted);
      admitted.push(...more);
      return 10 * more.length;
    };
    expect(admitted).to.have.length(2);
    expect(next(20), 'none begun').to.equal(0);
    expect(next(5), '15 begun: 45').to.equal(40);
    expect(next(5), '40 begun: 120, at most 100').to.equal(100);
    expect(next(99), '6 begun: 18, at least 20').to.equal(0);
    expect(next(15), '84 begun: at most 100').to.equal(90);
  });

  it('counts admitted deliveries until the ledger has them', () => {
    const admission = admissionOf(20);
    const [only] = admission.offer([batch(1, 20), batch(1)]);
    expect(admission.recount(NOTHING, []), 'not evaluated yet').to.deep.equal([]);
    expect(admission.recount(NOTHING, [only!])).to.have.length(1);
  });

  it('admits a batch larger than the limit', () => {
    const admission = admissionOf(5);
    expect(admission.offer([batch(1, 50), batch(1, 50)])).to.have.length(1);
  });

  it('lets a batch that was lost go again, whatever else its tenant has', () => {
    const admission = admissionOf(20);
    const offered = [batch(1), batch(1), batch(1)];
    expect(admission.offer(offered)).to.have.length(2);
    expect(admission.offer(offered).map((each) => each.batchid)).to.deep.equal(
      offered.slice(0, 2).map((each) => each.batchid),
    );
  });

  it('keeps what the queue could not take, in its order', () => {
    const admission = admissionOf(100);
    const admitted = admission.offer([batch(1), batch(1), batch(2)]);
    admission.requeue(admitted);
    const again = admission.offer([]);
    expect(tenants(again)).to.deep.equal([1, 2, 1]);
    expect(again.map((each) => each.ahead)).to.deep.equal([0, 0, 10]);
  });

  it('a tenant with little waiting goes before one with much', () => {
    expect(priorityOf(0)).to.equal(0);
    expect(priorityOf(15)).to.equal(0);
    expect(priorityOf(16)).to.equal(1);
    expect(priorityOf(1_999)).to.be.below(priorityOf(2_100));
    expect(priorityOf(1e12)).to.be.below(2 ** 21);
  });
});
