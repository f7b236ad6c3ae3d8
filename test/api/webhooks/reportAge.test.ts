import { expect } from 'chai';
import { requireAge } from '../../../src/email/carriers/reports/webhook.js';
import { AppError } from '../../../src/foundation/errors.js';

const NOW_MS = 1_800_000_000_000;

describe("the age of a carrier's report", () => {
  for (const [oldestMs, allowed] of [
    [5 * 60_000, '5 minutes'],
    [9 * 3_600_000, '9 hours'],
    [25 * 3_600_000, '25 hours'],
  ] as const) {
    it(`of more than ${allowed} is rejected with what is allowed`, () => {
      expect(() => requireAge(NOW_MS - oldestMs, NOW_MS, oldestMs)).not.to.throw();
      expect(() => requireAge(NOW_MS - oldestMs - 1, NOW_MS, oldestMs))
        .to.throw(AppError, `within the last ${allowed}`)
        .with.property('code', 'EVENT_SIGNATURE_EXPIRED');
    });
  }

  it('is that of no report of the future, or without a time', () => {
    expect(() => requireAge(NOW_MS + 6 * 60_000, NOW_MS, 1)).to.throw(AppError);
    expect(() => requireAge(Number.NaN, NOW_MS, 1)).to.throw(AppError);
  });
});
