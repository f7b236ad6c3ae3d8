import { GraphQLScalarType, valueFromASTUntyped } from 'graphql';
import { badInput, requireItems } from '../derive/badInput.js';

/** A list of templates, or one that renders to a JSON list. */
export type Addresses = string | readonly string[];

/** Of a list of an email type: each is rendered for each email, and no carrier takes one to more recipients. */
export const MAX_ITEMS = 1_000;

/** Throws AppError BAD_USER_INPUT. */
export function requireFewItems<T>(given: readonly (T | null)[], field: string): readonly T[] {
  if (given.length > MAX_ITEMS) throw badInput(field, `${field} may contain at most ${MAX_ITEMS}.`);
  return requireItems(given, field);
}

/** Addresses as they were given: a list, or one string that renders to a JSON list. */
export const addressesType = new GraphQLScalarType({
  name: 'Addresses',
  description: 'A list of address templates, or a single template that renders to a JSON list of addresses.',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
});

/**
 * GraphQL coerces a single string to a list of one. If it begins like a JSON list, it is the other form: a template that
 * renders to a whole list. No address begins with a bracket.
 */
export function readAddresses(given: readonly (string | null)[], field: string): Addresses {
  const items = requireFewItems(given, field);
  const [first] = items;
  return items.length === 1 && first !== undefined && first.trimStart().startsWith('[') ? first : items;
}

/** Throws AppError BAD_USER_INPUT if no address is given. */
export function readRecipients(given: readonly (string | null)[]): Addresses {
  const recipients = readAddresses(given, 'recipients');
  if (recipients.length === 0) throw badInput('recipients', 'recipients must contain an address.');
  return recipients;
}
