import { domainToASCII } from 'node:url';
import { simpleParser, type AddressObject } from 'mailparser';
import type { Address } from '../../../src/email/addresses.js';
import type { LoadedEmail } from '../../../src/email/carriers/carrier.js';
import { runPython } from '../../support/python.js';

/** What an email program makes of a message. */
export interface ReadEmail {
  readonly from: readonly Address[];
  readonly to: readonly Address[];
  readonly cc: readonly Address[];
  readonly replyTo: readonly Address[];
  readonly subject: string;
  readonly html: string;
  readonly text: string | null;
  /** Null if the library does not decode them. */
  readonly headers: Readonly<Record<string, string>> | null;
  readonly files: readonly ReadFile[];
}

export interface ReadFile {
  readonly filename: string;
  /** Null if the library guesses it by the name. */
  readonly type: string | null;
  readonly cid: string | null;
  readonly base64: string;
}

/** What it should make of it. */
export function expectedOf(email: LoadedEmail): ReadEmail {
  const { sender, recipients, cc, replyTo = [], subject, html, text = null, headers = {} } = email;
  return {
    from: [sender],
    to: recipients,
    cc,
    replyTo,
    subject,
    html: withLines(html),
    text: text === null ? null : withLines(text),
    headers,
    files: email.loaded.map(({ filename, mimetype, contentId, base64 }) => ({
      filename,
      // A message or a list of parts would be read as such.
      type: /^(message|multipart)\//.test(mimetype) ? 'application/octet-stream' : mimetype,
      cid: contentId ?? null,
      base64,
    })),
  };
}

/** Line ends of a text are those of email. A single part ends with one. */
const withLines = (text: string): string => text.replace(/\r\n?/g, '\n');

export async function readByMailparser(raw: Buffer): Promise<ReadEmail> {
  const read = await simpleParser(raw, {
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipImageLinks: true,
    skipTextLinks: true,
  });
  return {
    from: listOf(read.from),
    to: listOf(read.to),
    cc: listOf(read.cc),
    replyTo: listOf(read.replyTo),
    subject: read.subject ?? '',
    html: read.html || '',
    // Nothing, as without a text part.
    text: read.text || null,
    headers: null,
    files: read.attachments.map(({ filename = '', cid, content }) => ({
      filename,
      type: null,
      cid: cid ?? null,
      base64: content.toString('base64'),
    })),
  };
}

const PYTHON = `
import base64, email, email.policy, json, sys
from email.header import decode_header, make_header
from email.utils import getaddresses
def utf8(text):
    return text.encode('ascii', 'surrogateescape').decode('utf-8')
# Its newer parser leaves spaces between encoded words.
def addresses(message, name):
    lists = [utf8(str(value)).replace('\\r\\n', '') for key, value in message.raw_items() if key.lower() == name]
    return [{'email': address, 'name': str(make_header(decode_header(shown)))} for shown, address in getaddresses(lists)]
def text(part):
    return None if part is None else part.get_payload(decode=True).decode('utf-8').replace('\\r\\n', '\\n')
def read(raw, names):
    m = email.message_from_bytes(base64.b64decode(raw), policy=email.policy.default)
    files = [p for p in m.walk() if p.get_filename() is not None]
    plain, html = m.get_body(('plain',)), m.get_body(('html',))
    return {
        'from': addresses(m, 'from'), 'to': addresses(m, 'to'), 'cc': addresses(m, 'cc'), 'replyTo': addresses(m, 'reply-to'),
        'subject': str(m['subject']).strip(), 'html': text(html), 'text': text(plain),
        'headers': {name: str(m[name]).strip() for name in names},
        'files': [{'filename': p.get_filename(), 'type': p.get_content_type(), 'base64': base64.b64encode(p.get_payload(decode=True)).decode(),
            'cid': p['content-id'] and str(p['content-id']).strip('<>')} for p in files],
        'defects': [str(d) for p in m.walk() for d in p.defects],
    }
print(json.dumps([read(*each) for each in json.load(sys.stdin)]))
`;

/** Python's `email`, which also finds defects. */
export function readByPython(
  messages: readonly { readonly raw: Buffer; readonly email: LoadedEmail }[],
): readonly (ReadEmail & { readonly defects: readonly string[] })[] {
  const given = messages.map(({ raw, email }) => [raw.toString('base64'), Object.keys(email.headers ?? {})]);
  return runPython(PYTHON, given) as (ReadEmail & { defects: string[] })[];
}

/** The addresses of a text in a header, by mailparser. */
export async function addressesIn(text: string): Promise<Address[]> {
  const { to } = await simpleParser(Buffer.from(`To: ${text}\r\n\r\n`));
  return listOf(to);
}

const listOf = (given: AddressObject | AddressObject[] | undefined): Address[] =>
  [given ?? []]
    .flat()
    .flatMap(({ value }) => value.map(({ address = '', name }) => ({ email: inAscii(address), name })));

/** A header's value with its encoded words decoded (RFC 2047): the space between two of them is none. */
export const wordsOf = (value: string): string =>
  value
    .replace(/(=\?UTF-8\?B\?[^?]*\?=) +(?==\?UTF-8\?B\?)/g, '$1')
    .replace(/(?:=\?UTF-8\?B\?[^?]*\?=)+/g, (words) =>
      Array.from(words.matchAll(/B\?([^?]*)\?=/g), ([, base64 = '']) =>
        Buffer.from(base64, 'base64').toString(),
      ).join(''),
    );

export const inAscii = (address: string): string => address.replace(/[^@]*$/, domainToASCII);
