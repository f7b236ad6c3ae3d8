import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { ERROR_CODES } from '../../src/foundation/errors.js';

const ROOT = new URL('../../', import.meta.url);
/** Where deliveries get their codes. */
const FOLDERS = ['src/email/', 'src/worker/', 'src/db/ledger/', 'src/db/outbox/', 'src/db/email/'];
/** Written as a code, and none of a delivery. */
const OTHERS = new Set([
  'NOT_FOUND',
  'REDRIVE_NOT_ALLOWED',
  'HTML_CLIPPED',
  'FOREIGN_TAG',
  'ADDRESS_INVALID',
]);

const CODE =
  /(?:\bcode: |\bcode = |\b(?:sender|size|characters|tooMany): |rejected\(\s*|(?:paused|rejected)\([^,']*, |\? |[pP]roblem\((?:[^,()]+,\s*)?|\bthen |\belse |errorCode: )'([A-Z][A-Z0-9]*_[A-Z0-9_]+|POISON|SUPPRESSED|UNSUBSCRIBED)'/g;

describe('docs/reference/errors.md, codes of deliveries', () => {
  const [, page = ''] = readFileSync(new URL('docs/reference/errors.md', ROOT), 'utf8').split(
    '## Codes of deliveries',
  );
  const sources = FOLDERS.flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(new URL(name, new URL(folder, ROOT)), 'utf8')),
  );
  const codes = new Set(sources.flatMap((text) => [...text.matchAll(CODE)].map((match) => match[1]!)));

  it('documents what to do about every delivery error code', () => {
    expect([...codes]).to.include.members([
      'SUPPRESSED',
      'POISON',
      'LOOP_TRIPPED',
      'EMAIL_TOO_LARGE',
      'WORKER_LOST',
    ]);
    const missing = [...codes].filter((code) => !OTHERS.has(code) && !page.includes(`\`${code}\``));
    expect(missing).to.deep.equal([]);
  });

  it('names only existing codes', () => {
    const named = [...page.matchAll(/^\| (`[A-Z][^|]*) \| [^|]*`/gm)].flatMap((row) =>
      [...row[1]!.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map((match) => match[1]!),
    );
    const made =
      /^CARRIER_\d{3}$|^SMTP_\d{3}$|^E[A-Z]+$|^APIKEY_REFUSED$|^CREDITS_EXCEEDED$|^CARRIER_TIMEOUT$|^NETWORK_ERROR$/;
    const unknown = named.filter((code) => !codes.has(code) && !(code in ERROR_CODES) && !made.test(code));
    expect(named).to.include('TEMPLATE_FAILED');
    expect(unknown).to.deep.equal([]);
  });
});
