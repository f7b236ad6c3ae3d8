import { parseAddresses, uniqueAcrossLists, type Address } from './addresses.js';
import { type Email, fieldProblem } from './email.js';
import type { EmailField, EmailFields } from './emailFields.js';
import { holdsAddresses, MAX_HEADER_CHARACTERS } from './message/headerValues.js';
import { TOO_LONG_FOR_LINE } from './message/encodedWords.js';
import { withPreheader } from './preheader.js';
import type { Rendered, TextOf } from './renderFields.js';
import { toPostgresText } from '../foundation/postgresText.js';

const MAX_CATEGORY_CHARACTERS = 255;
/** Before runs of spaces become one: joining those of a long text takes a while. */
const MAX_SPACED_CHARACTERS = 10 * MAX_CATEGORY_CHARACTERS;
const MAX_REPLY_TO = 100;

/** RFC 3834: prevents out-of-office replies. */
const AUTO_SUBMITTED = { 'Auto-Submitted': 'auto-generated' };

/** Reads everything of an email except its addresses and attachments. Throws EmailProblem. */
export function readContent(
  fields: EmailFields,
  { textOf, plainTextOf }: Rendered,
): Pick<Email, 'html' | 'text' | 'replyTo' | 'headers' | 'categories'> {
  const html = toPostgresText(textOf(fields.template));
  const text = toPostgresText(fields.text ? textOf(fields.text) : (plainTextOf(fields.template) ?? ''));
  const replyTo = fields.replyTo ? readReplyTo(fields.replyTo, textOf) : [];
  const categories = readCategories(fields.categories, textOf);
  return {
    html: fields.preheader ? withPreheader(html, textOf(fields.preheader)) : html,
    headers: readHeaders(fields.headers, textOf),
    ...(text.trim() === '' ? {} : { text }),
    ...(replyTo.length === 0 ? {} : { replyTo }),
    ...(categories.length === 0 ? {} : { categories }),
  };
}

function readReplyTo(field: EmailField, textOf: TextOf): readonly Address[] {
  const { valid, invalid } = parseAddresses(textOf(field));
  const [first] = invalid;
  if (first !== undefined)
    throw fieldProblem(field.name, 'REPLY_TO_INVALID', `not an address: "${first.slice(0, 80)}"`);
  const [addresses = []] = uniqueAcrossLists([valid]);
  if (addresses.length <= MAX_REPLY_TO) return addresses;
  throw fieldProblem(
    field.name,
    'REPLY_TO_INVALID',
    `${addresses.length} addresses; an email takes ${MAX_REPLY_TO}`,
  );
}

/** Empty values are left out. */
function readHeaders(fields: readonly EmailField[], textOf: TextOf): Readonly<Record<string, string>> {
  const given = fields.flatMap((field) => {
    const name = field.name.slice(field.name.indexOf('.') + 1);
    const value = textOf(field).trim();
    if (/\p{Cc}/u.test(value))
      throw fieldProblem(field.name, 'HEADER_INVALID', 'the value holds a control character');
    if (value.length > MAX_HEADER_CHARACTERS)
      throw fieldProblem(
        field.name,
        'HEADER_INVALID',
        `the value is longer than ${MAX_HEADER_CHARACTERS} characters`,
      );
    if (holdsAddresses(name) && TOO_LONG_FOR_LINE.test(value))
      throw fieldProblem(field.name, 'HEADER_INVALID', 'an id or a URL is too long for a line');
    return value === '' ? [] : [[name, toPostgresText(value)] as const];
  });
  const isOwn = given.some(([name]) => name.toLowerCase() === 'auto-submitted');
  return { ...(isOwn ? {} : AUTO_SUBMITTED), ...Object.fromEntries(given) };
}

function readCategories(fields: readonly EmailField[], textOf: TextOf): readonly string[] {
  const categories = fields.map((field) => {
    const text = textOf(field);
    const category = toPostgresText(text.slice(0, MAX_SPACED_CHARACTERS))
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim();
    if (text.length <= MAX_SPACED_CHARACTERS && category.length <= MAX_CATEGORY_CHARACTERS) return category;
    throw fieldProblem(field.name, 'CATEGORY_INVALID', `longer than ${MAX_CATEGORY_CHARACTERS} characters`);
  });
  return [...new Set(categories)].filter((category) => category !== '');
}
