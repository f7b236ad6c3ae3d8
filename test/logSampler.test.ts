import { expect } from 'chai';
import { LogSampler } from '../src/logSampler.js';

describe('LogSampler', () => {
  it('lets so many in each second, and says with the next one how many it left out', () => {
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

  it('lets none in where none are wanted', () => {
    expect(new LogSampler(0, () => undefined).take()).to.equal(false);
  });
});
