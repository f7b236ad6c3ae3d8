import { expect } from 'chai';
import { toAppError } from '../../../src/db/sql/toAppError.js';

describe('toAppError', () => {
  it('maps a bug to INTERNAL_ERROR, not to a database outage', () => {
    const bug = new TypeError('x is not a function');
    expect(toAppError(bug)).to.include({ code: 'INTERNAL_ERROR', cause: bug });
    expect(toAppError(new Error('Connection terminated unexpectedly')).code).to.equal('DATABASE_UNAVAILABLE');
  });
});
