import { ALLOWED_HEADERS, mayBeSet } from '../../email/headerNames.js';
import { MAX_HEADER_CHARACTERS } from '../../email/message/headerValues.js';
import { literalText } from '../../email/emailFields.js';
import { AppError } from '../../foundation/errors.js';
import { isJsonObject } from '../../foundation/json/losslessJson.js';
import { badInput, requireItems } from '../derive/badInput.js';

/** The limits of the most restrictive carrier. */
const MAX_CATEGORIES = 10;
const MAX_HEADERS = 20;
const MAX_HEADER_TEMPLATE_CHARACTERS = 10_000;

/**
 * Also accepts the object as JSON text: names in GraphQL object literals can't contain a hyphen.
 * Throws AppError BAD_USER_INPUT.
 */
export function readHeaders(given: unknown): Readonly<Record<string, string>> {
  const object = typeof given === 'string' ? readJson(given) : given;
  if (!isJsonObject(object)) throw badInput('headers', 'headers must be an object of templates by name.');
  const headers = Object.entries(object);
  if (headers.length > MAX_HEADERS) throw badInput('headers', `headers may contain at most ${MAX_HEADERS}.`);
  const names = new Set<string>();
  for (const [name, value] of headers) {
    requireName(name, names);
    requireValueOf(`headers.${name}`, value);
  }
  return object as Readonly<Record<string, string>>;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badInput('headers', 'headers is neither an object nor the JSON text of one.');
  }
}

function requireName(name: string, names: Set<string>): void {
  if (!mayBeSet(name)) {
    throw new AppError('BAD_USER_INPUT', `An email type can't set the header ${JSON.stringify(name)}.`, {
      details: { field: 'headers' },
      hint: `It can set ${ALLOWED_HEADERS}.`,
    });
  }
  if (names.has(name.toLowerCase())) throw badInput('headers', `headers contains ${name} twice.`);
  names.add(name.toLowerCase());
}

function requireValueOf(field: string, value: unknown): void {
  if (typeof value !== 'string') throw badInput(field, `${field} must be a text.`);
  const literal = literalText(value);
  if (/[\r\n\0]/.test(literal)) throw badInput(field, `${field} must be one line.`);
  if (literal.length > MAX_HEADER_CHARACTERS || value.length > MAX_HEADER_TEMPLATE_CHARACTERS)
    throw badInput(field, `${field} is too long: a header has at most ${MAX_HEADER_CHARACTERS} characters.`);
}

/** Throws AppError BAD_USER_INPUT. */
export function readCategories(given: readonly (string | null)[]): readonly string[] {
  const categories = requireItems(given, 'categories');
  if (categories.length <= MAX_CATEGORIES) return categories;
  throw badInput('categories', `categories may contain at most ${MAX_CATEGORIES}.`);
}
