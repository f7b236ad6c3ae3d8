import { expect } from 'chai';
import { withinShare } from '../../../src/foundation/lifecycle/withinShare.js';

describe('a step within a share of the time', () => {
  it('is left out until what it took is that share, also if it failed', async () => {
    let now = 0;
    let runs = 0;
    let tookMs = 100;
    const step = withinShare(
      0.02,
      () => {
        runs += 1;
        now += tookMs;
        return runs === 2 ? Promise.reject(new Error('failed')) : Promise.resolve();
      },
      { nowMs: () => now, maxPauseMs: 60_000 },
    );
    await step();
    now = 4_999;
    await step();
    expect(runs).to.equal(1);
    now = 5_000;
    tookMs = 10;
    expect(await step().catch((error: unknown) => (error as Error).message)).to.equal('failed');
    now = 5_499;
    await step();
    expect(runs).to.equal(2);
    now = 5_500;
    tookMs = 1e6;
    await step();
    now += 60_000;
    await step();
    expect(runs, 'however long it took').to.equal(4);
  });
});
