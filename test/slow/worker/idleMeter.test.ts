import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { createIdleMeter } from '../../../src/worker/idleMeter.js';

describe('delivery: what of its time a worker has nothing to do', () => {
  it('is distinguished from a busy event loop, in both directions', async () => {
    const idle = createIdleMeter();
    await delay(300);
    expect(idle()).to.be.greaterThan(0.5);
    for (const until = performance.now() + 300; performance.now() < until;) await new Promise(setImmediate);
    expect(idle()).to.be.lessThan(0.3);
    await delay(500);
    expect(idle()).to.be.greaterThan(0.5);
  });
});
