import { expect } from 'chai';
import type { LoadedEmail } from '../../../src/email/carriers/carrier.js';
import { toMime } from '../../../src/email/message/mime.js';
import { sanitizeFileName } from '../../../src/files/fileName.js';
import { itWithPython } from '../../support/python.js';
import { readByMailparser, readByPython } from '../carriers/readMime.js';

const CHARACTERS = [
  ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)),
  'ü',
  '語',
  '🎉',
];
/** Short, and so long that it is written in pieces of 50 characters, with the character within, between and at the ends of them. */
const NAMES = CHARACTERS.flatMap((character) => [
  `a${character}b`,
  `a${character}${'x'.repeat(99)}`,
  `${character}${'x'.repeat(99)}`,
  `${'x'.repeat(48)}${character.repeat(3)}${'x'.repeat(80)}`,
  `${'x'.repeat(120)}${character}`,
]).map(sanitizeFileName);

describe('email: names of attached files', () => {
  const email = emailWith(NAMES);

  it('mailparser reads each as it is', async () => {
    const { files } = await readByMailparser(await toMime(email));
    expect(files.map(({ filename }) => filename)).to.deep.equal(NAMES);
  });

  itWithPython('Python reads each as it is', async () => {
    const [read] = readByPython([{ raw: await toMime(email), email }]);
    expect(read!.files.map(({ filename }) => filename)).to.deep.equal(NAMES);
    expect(read!.defects).to.deep.equal([]);
  });
});

function emailWith(names: readonly string[]): LoadedEmail {
  return {
    tenantid: 7,
    deliveryid: '1',
    sender: { email: 'shop@example.com', name: 'Shop' },
    recipients: [{ email: 'ada@example.com', name: '' }],
    cc: [],
    bcc: [],
    subject: 'Files',
    html: '<p>Files</p>',
    headers: {},
    categories: [],
    messageId: '<1@example.com>',
    idempotencyKey: '1@example.com',
    loaded: names.map((filename, index) => ({
      filename,
      mimetype: 'application/pdf',
      size: 1,
      objectkey: `k${index}`,
      base64: 'YQ==',
    })),
  };
}
