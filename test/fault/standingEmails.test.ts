import { expect } from 'chai';
import { standingEmails } from '../../fault/analysis/standingEmails.js';
import type { ProviderEntry } from '../../fault/carrier/ledger.js';

const LOST = [{ fromMs: 100, toMs: 200 }];

const call = (receivedAtMs: number, more: Partial<ProviderEntry> = {}): ProviderEntry => ({
  deliveryid: '7',
  tenantid: '1',
  apiKey: 'key',
  carrier: 'resend',
  recipients: [],
  subject: 'confirm mk-1',
  html: '',
  receivedAtMs,
  answeredAtMs: receivedAtMs,
  accepted: true,
  isRepeated: false,
  behavior: 'accept',
  secrets: [],
  ...more,
});
const REPEATED = { accepted: false, isRepeated: true };

describe('emails that stand when PostgreSQL went back in time', () => {
  const timesOf = (...entries: ProviderEntry[]): readonly number[] =>
    standingEmails(entries, LOST).map(({ receivedAtMs }) => receivedAtMs);

  it('are not those of the time that was lost', () => {
    expect(timesOf(call(50), call(150), call(250, { deliveryid: '8' }))).to.deep.equal([50, 250]);
  });

  it('count with the second call where the carrier recognized an email of that time', () => {
    expect(timesOf(call(150), call(250, REPEATED), call(260, REPEATED))).to.deep.equal([250]);
  });

  it('do not count twice where the carrier recognized an email that stands', () => {
    expect(timesOf(call(50), call(250, REPEATED))).to.deep.equal([50]);
  });
});
