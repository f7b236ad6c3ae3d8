import { expect } from 'chai';
import { LogSampler } from '../../../src/foundation/observability/logSampler.js';

describe('LogSampler', () => {
  it('logs a limited number of lines per second, and reports how many it left out with the next one', () => {
    let nowMs = 10_000;
    const leftOut: number[] = [];
    const sampler = new LogSampler(
      2,
      (count) => leftOut.push(count),
      () => nowMs,
    );
    const taken = (): number => Array.from({ length: 5 }, () => sampler.take()).filter(Boolean).length;
    expect(taken()).to.equal(2);
    expect(leftOut).to.deep.equal([]);
    nowMs = 11_000;
    expect(taken()).to.equal(2);
    expect(leftOut).to.deep.equal([3]);
  });

  it('logs nothing at a rate of 0', () => {
    expect(new LogSampler(0, () => undefined).take()).to.equal(false);
  });
});
