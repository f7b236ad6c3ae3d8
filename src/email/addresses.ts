import { domainToASCII } from 'node:url';
import { hideSigns, isOnlyValues, unmarkValues } from 'rowpost-jinja2';

/** `Name <a@b>`; the name may be empty. */
export interface Address {
  readonly email: string;
  readonly name: string;
}

/** Limits that email servers must accept (RFC 5321, 4.5.3.1). */
const MAX_LOCAL_BYTES = 64;
const MAX_ADDRESS_CHARACTERS = 254;
/** A name is quoted, and stored, several times for each email. A line of one has less than a thousand characters. */
const MAX_NAME_CHARACTERS = 1_000;
/** As written: a name may be escaped, and each value in it is marked. Reading a long one takes a while, only to reject it. */
const MAX_PIECE_CHARACTERS = 4 * MAX_NAME_CHARACTERS;
/** Of a domain, between its dots (RFC 1035, 2.3.4). */
const MAX_LABEL_CHARACTERS = 63;
/** As `domainToASCII` takes them (UTS #46). */
const DOTS = /[.。．｡]/;

/**
 * In one text, and in all lists of an email: ample for the 1,000 recipients that carriers take. Reading 2,000,000, as one
 * template may render to, takes half a second.
 */
export const MAX_LIST_CHARACTERS = 500_000;
/** In one text, and in all lists of an email: far more than carriers take. Each takes microseconds, in which no other email is sent. */
export const MAX_PIECES = 20_000;

/**
 * Only unquoted local parts: no carrier delivers to quoted ones. And no encoded words, which some servers decode to another
 * address.
 */
const LOCAL_PART = /^(?!.*=\?)[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
/**
 * As RFC 5321 has it. No top-level domain is a number: what `domainToASCII` takes for an IPv4 address, such as `1.2` for 1.0.0.2, would
 * be another host than the text names.
 */
const DOMAIN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;

/** A host before punycode: `domainToASCII` would end it at `/`, `?`, `#` or `\`, and decode `%`. */
const HOST = /^[-.。．｡·・\u200c-\u200d\p{L}\p{N}\p{M}]+$/u;

/** The addresses found in a text, and its invalid parts. */
export interface ParsedAddresses {
  readonly valid: readonly Address[];
  readonly invalid: readonly string[];
}

/**
 * Reads `a@b`, `Name <a@b>`, `Last, First <a@b>` (also in quotes) and groups (`Team: a@b, c@d;`), separated by commas or
 * semicolons. A rendered text of nothing but values is read like any other; in other texts only the author's signs count:
 * a value stays within the name, the part before the `@`, or the domain where it is printed.
 */
export function parseAddresses(text: string): ParsedAddresses {
  return parseListItem(isOnlyValues(text) ? unmarkValues(text) : text);
}

/** Reads a text of a JSON list likewise, but a value in it is at most one address. */
export function parseListItem(text: string): ParsedAddresses {
  const shown = text.length > MAX_LIST_CHARACTERS ? undefined : hideSigns(text);
  if (shown === undefined || hasTooManyPieces(shown))
    return { valid: [], invalid: [unmarkValues(text.slice(0, 100))] };
  const pieces = splitList(shown);
  const valid: Address[] = [];
  const invalid: string[] = [];
  for (const piece of pieces) {
    const isLong = piece.length > MAX_PIECE_CHARACTERS;
    const address = parseAddress(!isLong && isOnlyValues(piece) ? unmarkValues(piece) : piece);
    if (address) valid.push(address);
    else invalid.push(unmarkValues(piece));
  }
  return { valid, invalid };
}

/** Reads a text as one value: at most one address. */
export function parseOneValue(text: string): ParsedAddresses {
  if (text.trim() === '') return { valid: [], invalid: [] };
  const isTooLong = text.length > MAX_LIST_CHARACTERS || hasTooManyPieces(text);
  const address = isTooLong ? undefined : parseAddress(collapseSpace(text));
  return address ? { valid: [address], invalid: [] } : { valid: [], invalid: [text] };
}

/** Also those within names, each of which may be an address that was meant. */
const hasTooManyPieces = (text: string): boolean => text.match(/[,;]/g)?.[MAX_PIECES] !== undefined;

/** @returns undefined unless the text holds one address and nothing else */
export function parseOneAddress(text: string): Address | undefined {
  const { valid, invalid } = parseAddresses(text);
  return valid.length === 1 && invalid.length === 0 ? valid[0] : undefined;
}

/** An address in comparable form: lower case, since no carrier has mailboxes that differ only in case. */
export const comparable = (email: string): string => email.trim().toLowerCase();

/** Keeps each address only in the first list that has it. */
export function uniqueAcrossLists(lists: readonly (readonly Address[])[]): readonly (readonly Address[])[] {
  const seen = new Set<string>();
  return lists.map((list) =>
    list.filter(({ email }) => {
      const key = comparable(email);
      if (seen.has(key)) return false;
      seen.add(key);
      return true;
    }),
  );
}

/** Quotes the name if needed. */
export function formatAddress({ email, name }: Address): string {
  return name === '' ? email : `${isPlainName(name) ? name : quoteName(name)} <${email}>`;
}

/** Whether a name needs no quotes. */
export const isPlainName = (name: string): boolean => /^[\p{L}\p{N} ._'-]+$/u.test(name);

/** A quoted string (RFC 5322, 3.2.4). */
export const quoteName = (name: string): string => `"${name.replace(/["\\]/g, '\\$&')}"`;

/**
 * Splits at commas and semicolons outside quotes and angle brackets; collapses whitespace. A comma before the first `@` belongs
 * to the name if an address in angle brackets follows.
 */
function splitList(text: string): readonly string[] {
  const pieces: string[] = [];
  let piece = '';
  let quoted = false;
  let bracketed = false;
  let isEscaped = false;
  let read: 'nothing' | 'name' | 'address' = 'nothing';
  for (const character of collapseSpace(text)) {
    if (character === '"' && !bracketed && !isEscaped) quoted = !quoted;
    else if (character === '<' && !quoted) bracketed = true;
    else if (character === '>' && !quoted) bracketed = false;
    if (!quoted && !bracketed && (character === ';' || (character === ',' && read !== 'name'))) {
      pieces.push(piece);
      piece = '';
      read = 'nothing';
    } else {
      piece += character;
      if (character === '@') read = 'address';
      else if (character !== ' ' && read === 'nothing') read = 'name';
    }
    // Kept, since reading it from the piece would copy the piece for each quote.
    isEscaped = character === '\\' && !isEscaped;
  }
  pieces.push(piece);
  return pieces
    .map((item) => item.trim())
    .flatMap((item) => (item.endsWith('>') ? item : item.split(',')))
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

// eslint-disable-next-line no-control-regex -- control characters are what must not pass
const collapseSpace = (text: string): string => text.replace(/[\s\u0000-\u001f\u007f]+/g, ' ').trim();

/** And escapes outside, so that quotes are matched in one pass. */
const QUOTED = /\\.|"(?:[^"\\]|\\.)*"/g;

/** A piece of nothing but values is passed unmarked; in any other, the signs of values are hidden. */
function parseAddress(piece: string): Address | undefined {
  if (piece.length > MAX_PIECE_CHARACTERS) return undefined;
  const [, name = '', inBrackets] = /^(.*?)\s*<\s*([^<>]*?)\s*>$/.exec(piece) ?? [];
  if (hidesAddress(name.replace(QUOTED, ''))) return undefined;
  const written = inBrackets ?? piece;
  const email = normalize(isOnlyValues(written) ? unmarkValues(written) : written);
  const shown = unquote(unmarkValues(name));
  return email === undefined || shown.length > MAX_NAME_CHARACTERS ? undefined : { email, name: shown };
}

/**
 * Whether a name may have been meant as another address: one in brackets, after which a comma is missing, or one before a comma, as in
 * `{{ email }}, Shop <shop@b>`.
 * @param name without what is quoted
 */
function hidesAddress(name: string): boolean {
  const listed = name.split(',').slice(0, -1);
  return /[<>]/.test(name) || listed.some((part) => normalize(unmarkValues(part)) !== undefined);
}

/** @param text with the author's `@`, or unmarked */
function normalize(text: string): string | undefined {
  // The name of a group, or `mailto:`; but not `https:`.
  const email = text.trim().replace(/^[^@:]*: *(?!\/)/, '');
  const at = email.lastIndexOf('@');
  const local = unmarkValues(email.slice(0, at));
  if (at < 1 || Buffer.byteLength(local) > MAX_LOCAL_BYTES || !LOCAL_PART.test(local)) return undefined;
  const host = unmarkValues(email.slice(at + 1));
  // Punycode takes quadratic time for each label. No character shrinks by more than half, so a longer one would be too long anyway.
  if (host.length > 2 * MAX_ADDRESS_CHARACTERS || !HOST.test(host)) return undefined;
  if (host.split(DOTS).some((label) => label.length > 2 * MAX_LABEL_CHARACTERS)) return undefined;
  const domain = domainToASCII(host);
  if (!DOMAIN.test(domain)) return undefined;
  const normalized = `${local}@${domain}`;
  return normalized.length > MAX_ADDRESS_CHARACTERS ? undefined : normalized;
}

function unquote(name: string): string {
  const inner = /^"(.*)"$/.exec(name.trim())?.[1];
  return (inner === undefined ? name : inner.replace(/\\(.)/g, '$1')).trim();
}
