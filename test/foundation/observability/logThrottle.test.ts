import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { LogThrottle } from '../../../src/foundation/observability/logThrottle.js';

describe('messages that would be logged many times', () => {
  it('are due once for each key', () => {
    const throttle = new LogThrottle(60_000);
    expect(['a', 'a', 'b', 'a', 'b'].map((key) => throttle.isDue(key))).to.deep.equal([
      true,
      false,
      true,
      false,
      false,
    ]);
  });

  it('are due again after the interval, however often they came up in it', async () => {
    const throttle = new LogThrottle(50);
    const startedAt = performance.now();
    const due: number[] = [];
    while (performance.now() - startedAt < 500) {
      if (throttle.isDue('a')) due.push(performance.now());
      await delay(5);
    }
    expect(due.length).to.be.within(2, 11);
    due.slice(1).forEach((atMs, i) => expect(atMs - due[i]!).to.be.at.least(45));
  });
});
