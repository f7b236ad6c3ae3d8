import { expect } from 'chai';
import { toAppError } from '../../src/db/sqlState.js';

describe('toAppError', () => {
  it('answers a bug as INTERNAL_ERROR, not as an outage of the database', () => {
    const bug = new TypeError('x is not a function');
    expect(toAppError(bug)).to.include({ code: 'INTERNAL_ERROR', cause: bug });
    expect(toAppError(new Error('Connection terminated unexpectedly')).code).to.equal('DATABASE_UNAVAILABLE');
  });
});
