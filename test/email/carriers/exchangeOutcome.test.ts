import { expect } from 'chai';
import { cleanOutcome, redact } from '../../../src/email/carriers/exchangeOutcome.js';

describe("carriers' words", () => {
  const secret = 'SG.abcdefghij';

  it('contain no secret, also where their end has cut it off', () => {
    expect(redact(`key ${secret} is unknown`, [secret])).to.equal('key [key] is unknown');
    const long = 'x'.repeat(295);
    expect(redact(`${long}SG.ab`, [secret])).to.equal(`${long}[key]`);
  });

  it('are kept where they only end as a secret begins', () => {
    const sent = { kind: 'sent', httpStatus: 202, providerMessageId: 'id-SG.a' } as const;
    expect(cleanOutcome(sent, [secret])).to.deep.equal(sent);
  });
});
