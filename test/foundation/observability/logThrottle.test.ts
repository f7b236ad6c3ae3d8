import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { LogThrottle } from '../../../src/foundation/observability/logThrottle.js';

describe('messages that would be logged many times', () => {
  it('are due once for each key', () => {
    const throttle = new LogThrottle({ intervalMs: 60_000, linesPerKey: 1 });
    expect(['a', 'a', 'b', 'a', 'b'].map((key) => throttle.isDue(key))).to.deep.equal([
      true,
      false,
      true,
      false,
      false,
    ]);
  });

  it('are due again after the interval, however often they came up in it', async () => {
    for (const limits of [{ linesPerKey: 1 }, { lines: 1 }]) {
      const throttle = new LogThrottle({ intervalMs: 50, ...limits });
      const startedAt = performance.now();
      const due: number[] = [];
      while (performance.now() - startedAt < 500) {
        if (throttle.isDue('a')) due.push(performance.now());
        await delay(5);
      }
      expect(due.length).to.be.within(2, 11);
      due.slice(1).forEach((atMs, i) => expect(atMs - due[i]!).to.be.at.least(45));
    }
  });

  it('are due as often as all may be, and those of a key as often as it may; the rest is counted', () => {
    let nowMs = 10_000;
    const leftOut: number[] = [];
    const throttle = new LogThrottle({
      intervalMs: 1_000,
      lines: 3,
      linesPerKey: 2,
      onLeftOut: (count) => leftOut.push(count),
      now: () => nowMs,
    });
    const due = (): string =>
      ['a', 'a', 'a', 'b', 'b', undefined].filter((key) => throttle.isDue(key)).join('');
    expect(due()).to.equal('aab');
    expect(leftOut, 'with the next line: the third of a').to.deep.equal([1]);
    nowMs = 11_000;
    expect(due()).to.equal('');
    nowMs = 11_001;
    expect(due()).to.equal('aab');
    expect(leftOut).to.deep.equal([1, 2 + 6, 1]);
  });

  it('are never due at a limit of 0', () => {
    expect(new LogThrottle({ intervalMs: 1_000, lines: 0 }).isDue()).to.equal(false);
  });
});
