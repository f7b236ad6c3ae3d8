import { expect } from 'chai';
import { readInterval } from '../../../src/email/carriers/rateHeaders.js';
import { cpuTimer } from '../../support/cpuTime.js';

describe('carriers: rate limits in headers', () => {
  const CASES: readonly (readonly [Record<string, string>, number])[] = [
    // draft-ietf-httpapi-ratelimit-headers, up to 07 and from 08 on
    [{ 'ratelimit-policy': '2;w=1' }, 525],
    [{ 'ratelimit-policy': '10;w=1', 'ratelimit-limit': '10', 'ratelimit-reset': '1' }, 105],
    [{ 'ratelimit-policy': '60;w=60' }, 1050],
    [{ 'ratelimit-policy': '"default";q=100;w=10' }, 105],
    [{ 'ratelimit-limit': '2, 2;window=1' }, 0],
    [{ 'ratelimit-limit': '2;w=1' }, 525],
    [{ 'ratelimit-limit': '5', 'ratelimit-reset': '1', 'ratelimit-remaining': '4' }, 210],
    [{ 'ratelimit-limit': '5', 'ratelimit-reset': '0' }, 210],
    // A period of unknown length.
    [{ 'ratelimit-limit': '600', 'ratelimit-reset': '37' }, 0],
    // Faster than emails come.
    [{ 'ratelimit-policy': '1000;w=1' }, 0],
    [{ 'ratelimit-policy': '600;w=10' }, 0],
    // A quota of a day.
    [{ 'ratelimit-policy': '100;w=86400' }, 0],
    // Nonsense
    [{}, 0],
    [{ 'ratelimit-policy': '0;w=1' }, 0],
    [{ 'ratelimit-policy': '2;w=0' }, 0],
    [{ 'ratelimit-policy': '-2;w=1' }, 0],
    [{ 'ratelimit-limit': 'many', 'ratelimit-reset': '1' }, 0],
    [{ 'ratelimit-limit': '2', 'ratelimit-reset': '1e9' }, 0],
  ];
  for (const [headers, intervalMs] of CASES) {
    it(`${JSON.stringify(headers)}: ${intervalMs} ms`, () => {
      expect(readInterval(headers)).to.be.closeTo(intervalMs, 0.01);
    });
  }

  it('are read in a moment, however long they are', () => {
    const cpuMs = cpuTimer();
    expect(readInterval({ 'ratelimit-policy': `;q=${'1'.repeat(8_000)}${';'.repeat(8_000)}` })).to.equal(0);
    expect(cpuMs()).to.be.below(50);
  });
});
