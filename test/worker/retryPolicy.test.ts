import { expect } from 'chai';
import {
  backoffMs,
  decide,
  decideWithoutEmail,
  furtherAttempts,
  type DecidableOutcome,
  type NoEmail,
  type RetryOptions,
} from '../../src/worker/retryPolicy.js';

const TERMS: RetryOptions = {
  attempts: 0,
  policy: 'at_least_once',
  maxAttempts: 3,
  backoffBaseMs: 1000,
  backoffCapMs: 10_000,
  random: () => 0.5,
};
const RETRY = {
  kind: 'retry',
  ambiguous: false,
  httpStatus: null,
  code: 'ECONNREFUSED',
  message: 'm',
} as const;
const AMBIGUOUS = { ...RETRY, ambiguous: true, httpStatus: 500, code: 'CARRIER_500' } as const;
const PAUSED = {
  kind: 'tenant_paused',
  httpStatus: 401,
  code: 'CARRIER_401',
  message: 'no such key',
} as const;
const RATE_LIMITED = { kind: 'rate_limited', httpStatus: 429, waitMs: 5000 } as const;
const FALLBACK = { state: 'retrying', counted: false, nextAttemptMs: 0 } as const;

describe('delivery: retry policy', () => {
  const table: readonly [string, DecidableOutcome, Partial<RetryOptions>, object][] = [
    [
      'accepted → sent',
      { kind: 'sent', httpStatus: 202, providerMessageId: 'x' },
      {},
      {
        state: 'sent',
        outcome: 'sent',
        counted: true,
        providerMessageId: 'x',
        nextAttemptMs: null,
        errorCode: null,
      },
    ],
    [
      'rejected → failed, whatever attempts are left',
      { kind: 'rejected', httpStatus: 400, code: 'CARRIER_400', message: 'bad' },
      {},
      { state: 'failed', outcome: 'rejected', counted: true, errorCode: 'CARRIER_400', error: 'bad' },
    ],
    [
      'rate limited → waits as asked, uses no attempt up, even at the last one',
      RATE_LIMITED,
      { attempts: 99 },
      { state: 'retrying', outcome: 'rate_limited', counted: false, nextAttemptMs: 6000 },
    ],
    ['did not leave → retrying', RETRY, {}, { state: 'retrying', outcome: 'retry', nextAttemptMs: 500 }],
    ['did not leave, at most once → retrying', RETRY, { policy: 'at_most_once' }, { state: 'retrying' }],
    ['did not leave, second time', RETRY, { attempts: 1 }, { state: 'retrying', nextAttemptMs: 1000 }],
    [
      'did not leave, last time → failed',
      RETRY,
      { attempts: 2 },
      { state: 'failed', outcome: 'retry', nextAttemptMs: null },
    ],
    [
      'may have left → retrying, recorded as ambiguous',
      AMBIGUOUS,
      {},
      { state: 'retrying', outcome: 'ambiguous' },
    ],
    [
      'may have left, at most once → unknown',
      AMBIGUOUS,
      { policy: 'at_most_once' },
      { state: 'unknown', outcome: 'ambiguous', nextAttemptMs: null, errorCode: 'CARRIER_500' },
    ],
    [
      'may have left, last time → failed',
      AMBIGUOUS,
      { attempts: 2 },
      { state: 'failed', outcome: 'ambiguous' },
    ],
    [
      'account refused, others may take it later → retrying',
      PAUSED,
      {},
      { state: 'retrying', outcome: 'retry', counted: true, errorCode: 'CARRIER_401', nextAttemptMs: 500 },
    ],
    [
      'did not leave, with a carrier to fall back to → tried there at once, uses no attempt up',
      RETRY,
      { attempts: 2, next: 'ses' },
      { ...FALLBACK, outcome: 'retry', errorCode: 'ECONNREFUSED', error: 'm; ses is tried next' },
    ],
    [
      'account refused, with a carrier to fall back to',
      PAUSED,
      { next: 'ses' },
      { ...FALLBACK, outcome: 'paused', errorCode: 'CARRIER_401', error: 'no such key; ses is tried next' },
    ],
    [
      'rate limited, with a carrier to fall back to',
      RATE_LIMITED,
      { next: 'ses' },
      {
        ...FALLBACK,
        outcome: 'rate_limited',
        errorCode: 'RATE_LIMITED',
        error: 'the carrier asks to wait; ses is tried next',
      },
    ],
    [
      'may have left, with another carrier → not tried there',
      AMBIGUOUS,
      { next: 'ses' },
      { state: 'retrying', outcome: 'ambiguous', counted: true, nextAttemptMs: 500, error: 'm' },
    ],
  ];
  for (const [name, outcome, terms, expected] of table) {
    it(name, () => {
      expect(decide(outcome, { ...TERMS, ...terms })).to.include(expected);
    });
  }

  const WHY = { code: 'C', message: 'm' } as const;
  const withoutEmail: readonly [NoEmail, Partial<RetryOptions>, object][] = [
    [{ ...WHY, kind: 'failed' }, {}, { state: 'failed', outcome: 'failed', counted: true, errorCode: 'C' }],
    [{ ...WHY, kind: 'skipped' }, {}, { state: 'skipped', outcome: null, counted: false, error: 'm' }],
    [
      { ...WHY, kind: 'retry' },
      {},
      { state: 'retrying', outcome: 'retry', counted: true, nextAttemptMs: 500 },
    ],
    [{ ...WHY, kind: 'retry' }, { attempts: 2 }, { state: 'failed', outcome: 'retry', nextAttemptMs: null }],
    [
      { kind: 'wait', waitMs: 5000 },
      { attempts: 99 },
      { state: 'retrying', outcome: null, counted: false, errorCode: 'RATE_LIMITED', nextAttemptMs: 6000 },
    ],
  ];
  for (const [why, terms, expected] of withoutEmail) {
    it(`without an email: ${why.kind} → ${JSON.stringify(expected)}`, () => {
      expect(decideWithoutEmail(why, { ...TERMS, ...terms })).to.include(expected);
    });
  }

  it('says whether a carrier may leave some recipients to further attempts', () => {
    const further = (options: Partial<RetryOptions>) =>
      furtherAttempts({ ...TERMS, maxAttempts: 9, ...options });
    expect(further({})).to.deep.equal({ mayRetry: true, mayRepeat: true });
    expect(further({ policy: 'at_most_once' })).to.deep.equal({ mayRetry: true, mayRepeat: false });
    expect(further({ attempts: 2 }), 'copies are few').to.deep.equal({ mayRetry: true, mayRepeat: false });
    expect(further({ attempts: 8 }), 'the last').to.deep.equal({ mayRetry: false, mayRepeat: false });
    expect(further({ attempts: 8, next: 'ses' })).to.deep.equal({ mayRetry: true, mayRepeat: false });
  });

  it('backs off between nothing and a bound that doubles up to the cap', () => {
    const bounds = [0, 1, 2, 3, 4, 5, 60].map((attempts) =>
      backoffMs(attempts, { ...TERMS, random: () => 1 }),
    );
    expect(bounds).to.deep.equal([1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
    expect(backoffMs(5, { ...TERMS, random: () => 0 })).to.equal(0);
  });
});
