import mimeTypes from 'mime-types';
import type { Address } from '../../../src/email/addresses.js';
import type { LoadedAttachment } from '../../../src/email/carriers/attachmentLoader.js';
import type { LoadedEmail } from '../../../src/email/carriers/carrier.js';
import { sanitizeFileName } from '../../../src/files/fileName.js';
import { isPlainType } from '../../../src/files/fileType.js';
import { generator } from '../../support/randomNumbers.js';

/** Words of many scripts, and what means something in a header or a MIME message. */
const WORDS = [
  ...[
    'Ada',
    'Lovelace',
    "O'Hara",
    'Grüße',
    'Łódź',
    'Ελένη',
    'Дарья',
    'שָׁלוֹם',
    'مرحبا',
    'नमस्ते',
    'สวัสดี',
    '日本語',
    '漢字',
    '한국어',
    'ქართული',
  ],
  ...[
    '🎉',
    '👩‍👩‍👧‍👦',
    'e\u0301',
    'ﷺ',
    '\u200d',
    '\u202e',
    'x'.repeat(80),
    'ü'.repeat(60),
    '語'.repeat(40),
    'z'.repeat(400),
    'w'.repeat(990),
  ],
  ...[
    '"',
    '\\',
    '\\"',
    ',',
    ';',
    ':',
    '<',
    '>',
    '@',
    '(',
    ')',
    '[',
    ']',
    '.',
    '..',
    '=',
    '?',
    '_',
    '%',
    '&',
    '*',
    '#',
    '|',
    '~',
    '-',
  ],
  ...[
    '=?',
    '?=',
    '=?utf-8?Q?a?=',
    '=?UTF-8?B?QQ==?=',
    '=?x?Q?y?=',
    '<evil@evil.example>',
    'evil@evil.example,',
    '"q"',
    "'",
    '``',
  ],
  ...['=20', '=3D', 'a=b', 'Bcc:', 'From', '--', '{{ x }}', '%recipient%', '-name-', '<%= x %>', '[%x%]'],
];
/** In texts besides. */
const LINES = [
  '\n',
  '\r\n',
  '\r',
  '\n\n',
  '\n.\n',
  '\r\n..\r\n',
  '\nFrom x',
  ' \n',
  '\t',
  '\u2028',
  '\u0085',
  '\n--x--\n',
  '\u0001',
  '  ',
  '\ufeff',
];
const DOMAINS = [
  'example.com',
  'b.org',
  'xn--bcher-kva.example',
  'a-b.c--d.example',
  `${'d'.repeat(63)}.example`,
];
const LOCALS = ['ada', 'a.b', 'a+tag', "o'hara", 'x_y-z', '!#$%&*/=^`{|}~', '0', 'l'.repeat(64)];
const UTF8_LOCALS = ['grüße', '用户', 'дарья'];
const TYPES = Object.keys(mimeTypes.extensions).filter(isPlainType);
const COMPOSITE_TYPES = [
  'multipart/mixed',
  'multipart/alternative',
  'message/rfc822',
  'message/partial',
  'message/external-body',
];
const SIZES = [0, 1, 2, 3, 56, 57, 58, 76, 77, 997, 998, 999, 1_000, 4_095, 20_000];
const HEADERS = ['X-Note', 'X-Long-Name-Of-A-Header', 'Comments', 'Keywords', 'Organization', 'Feedback-ID'];

/** Emails as they are composed, of every length, script and type of attachment; the same for the same seed. */
export function randomEmails(seed: number): () => LoadedEmail {
  const next = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[next(list.length)]!;
  const many = <T>(most: number, make: () => T): T[] => Array.from({ length: next(most + 1) }, make);
  const oneLine = (most: number): string =>
    many(most, () => pick(WORDS) + pick(['', ' ', ' ']))
      .join('')
      .replace(/\s+/g, ' ')
      .trim();
  const text = (most: number): string =>
    many(most, () => (next(4) === 0 ? pick(LINES) : pick(WORDS) + pick(['', ' ']))).join('');
  let made = 0;
  const address = (): Address => {
    const local = pick(next(40) === 0 ? UTF8_LOCALS : LOCALS);
    return {
      email: `${local}@${made++}.${pick(DOMAINS)}`,
      name: next(4) === 0 ? '' : oneLine(next(20) === 0 ? 200 : 6),
    };
  };
  const bytes = (size: number): Buffer => {
    const kinds: readonly (() => number)[] = [
      () => next(256),
      () => 32 + next(95),
      () => pick([0, 10, 13, 13, 46, 65, 128, 255]),
      () => 65,
    ];
    return Buffer.from(Array.from({ length: size }, pick(kinds)));
  };
  const attachment = (_: unknown, index: number): LoadedAttachment => {
    const content = bytes(pick(SIZES));
    const mimetype = pick(next(4) === 0 ? COMPOSITE_TYPES : TYPES);
    return {
      filename: sanitizeFileName(oneLine(5) + pick(['', '.pdf', '.eml', '.txt'])),
      mimetype,
      size: content.length,
      objectkey: `k${index}`,
      base64: content.toString('base64'),
      // Never a text: see `findAttachments`.
      ...(next(4) === 0 && !mimetype.startsWith('text/') ? { contentId: `key-${index}` } : {}),
    };
  };
  return () => {
    const headers = many(4, () => [pick(HEADERS), oneLine(10).slice(0, 998).toWellFormed().trim()] as const);
    const plain = text(40);
    return {
      tenantid: 7,
      deliveryid: String(made),
      sender: address(),
      recipients: [address(), ...many(5, address)],
      cc: many(2, address),
      bcc: many(2, address),
      ...(next(2) === 0 ? { replyTo: [address(), ...many(2, address)] } : {}),
      subject: oneLine(next(10) === 0 ? 200 : 12) || 'S',
      html: `<p>${text(60)}</p>`,
      ...(plain.trim() === '' ? {} : { text: plain }),
      headers: {
        'Auto-Submitted': 'auto-generated',
        ...Object.fromEntries(headers.filter(([, value]) => value !== '')),
      },
      categories: [...new Set(many(4, () => oneLine(3).slice(0, 255).toWellFormed().trim()))].filter(
        (category) => category !== '',
      ),
      messageId: `<delivery.7.${made}@rowpost.example>`,
      idempotencyKey: `delivery.7.${made}@rowpost.example`,
      loaded: Array.from({ length: next(4) }, attachment),
    };
  };
}
