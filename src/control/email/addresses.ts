import { GraphQLScalarType, valueFromASTUntyped } from 'graphql';
import { badInput, requireItems } from '../derive/badInput.js';

/** A list of templates, or one that renders to a JSON list. */
export type Addresses = string | readonly string[];

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
  const items = requireItems(given, field);
  const [first] = items;
  return items.length === 1 && first !== undefined && first.trimStart().startsWith('[') ? first : items;
}

/** Throws AppError BAD_USER_INPUT if no address is given. */
export function readRecipients(given: readonly (string | null)[]): Addresses {
  const recipients = readAddresses(given, 'recipients');
  if (recipients.length === 0) throw badInput('recipients', 'recipients must contain an address.');
  return recipients;
}
