import { expect } from 'chai';
import type { PastAttempt } from '../../src/db/ledger/attemptHistory.js';
import { chooseCarrier } from '../../src/worker/chooseCarrier.js';

const CARRIERS = ['a', 'b', 'c'];
/** The oldest first, as `a retry`. */
const history = (...attempts: readonly string[]): readonly PastAttempt[] =>
  attempts
    .map((text, index): PastAttempt => {
      const [carrier = '', outcome] = text.split(' ');
      return {
        attempt: index + 1,
        carrier: carrier === '-' ? null : carrier,
        outcome: outcome as PastAttempt['outcome'],
        usedKey: false,
      };
    })
    .reverse();
const choose = (past: readonly PastAttempt[], held: readonly string[] = [], carriers = CARRIERS) => {
  const { carrier, next } = chooseCarrier(carriers, past, (each) => held.includes(each));
  return [carrier, next];
};

describe('the carrier of an attempt', () => {
  it('is the first, then those after it in order, and the first again', () => {
    expect(choose([])).to.deep.equal(['a', 'b']);
    expect(choose(history('a retry'))).to.deep.equal(['b', 'c']);
    expect(choose(history('a retry', 'b paused'))).to.deep.equal(['c', undefined]);
    expect(choose(history('a retry', 'b paused', 'c rate_limited'))).to.deep.equal(['a', 'b']);
    expect(choose(history('- retry'))).to.deep.equal(['a', 'b']);
  });

  it('passes over those that are held, unless all are', () => {
    expect(choose([], ['a'])).to.deep.equal(['b', 'c']);
    expect(choose([], ['b'])).to.deep.equal(['a', 'c']);
    expect(choose(history('a retry'), ['b', 'c'])).to.deep.equal(['a', undefined]);
    expect(choose([], CARRIERS)).to.deep.equal(['a', undefined]);
  });

  it('stays the one whose outcome can’t be known, whatever happens then', () => {
    expect(choose(history('a retry', 'b ambiguous'))).to.deep.equal(['b', undefined]);
    expect(choose(history('b ambiguous', 'b retry', 'b paused'), ['b'])).to.deep.equal(['b', undefined]);
    expect(choose(history('b ambiguous', '- redriven'))).to.deep.equal(['a', 'b']);
    // Taken out by the tenant: there is nothing else to stay with.
    expect(choose(history('gone ambiguous'))).to.deep.equal(['a', 'b']);
  });
});
