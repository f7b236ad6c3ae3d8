import {
  GraphQLBoolean,
  GraphQLError,
  GraphQLScalarType,
  GraphQLString,
  Kind,
  valueFromASTUntyped,
  type ValueNode,
} from 'graphql';
import type { ScalarName } from '../../db/catalog/types.js';

const INTEGER = /^[+-]?\d+$/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const INT_MIN = -2_147_483_648;
const INT_MAX = 2_147_483_647;

/** `accept` returns what goes to PostgreSQL, or undefined when the value is of the wrong type. */
function scalar(
  name: ScalarName,
  description: string,
  accept: (value: unknown) => unknown,
): GraphQLScalarType {
  const take = (value: unknown, shown: () => string): unknown => {
    const taken = accept(value);
    if (taken === undefined) throw new GraphQLError(`${name} cannot represent ${shown()}`);
    return taken;
  };
  return new GraphQLScalarType({
    name,
    description,
    // Values leave as the database wrote them.
    serialize: (value) => value,
    parseValue: (value) => take(value, () => show(value)),
    parseLiteral: (node) => take(literal(node), () => ('value' in node ? show(node.value) : 'this value')),
  });
}

function show(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  return (text ?? 'this value').slice(0, 100);
}

/** Numbers keep their digits as text. */
function literal(node: ValueNode): unknown {
  switch (node.kind) {
    case Kind.STRING:
    case Kind.INT:
    case Kind.FLOAT:
      return node.value;
    default:
      return undefined;
  }
}

const asText = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : undefined;
const string = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function int(value: unknown): number | undefined {
  const text = asText(value)?.trim();
  if (text === undefined || !NUMBER.test(text)) return undefined;
  const number = Number(text);
  return Number.isInteger(number) && number >= INT_MIN && number <= INT_MAX ? number : undefined;
}

function bigInt(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  const text = asText(value)?.trim();
  return text !== undefined && INTEGER.test(text) ? text : undefined;
}

function float(value: unknown): string | undefined {
  const text = asText(value)?.trim();
  return text !== undefined && (NUMBER.test(text) || /^(NaN|[+-]?Infinity)$/i.test(text)) ? text : undefined;
}

function base64(value: unknown): string | undefined {
  const text = string(value);
  return text !== undefined && /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text) ? text : undefined;
}

const genericScalar = new GraphQLScalarType({
  name: 'GenericScalar',
  description: 'Any JSON value.',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
});

/** Lenient where existing clients are: numeric strings are numbers. */
export const SCALARS: Readonly<Record<ScalarName, GraphQLScalarType>> = {
  Int: scalar('Int', 'A 32-bit integer; numeric strings are accepted.', int),
  BigInt: scalar('BigInt', 'A 64-bit integer, as a JSON number; beyond 2^53 ask for `cast: text`.', bigInt),
  Float: scalar('Float', 'A binary floating-point number.', float),
  Decimal: scalar('Decimal', 'A decimal number with every digit; send long ones as strings.', float),
  Boolean: GraphQLBoolean,
  String: GraphQLString,
  UUID: scalar('UUID', 'A UUID.', string),
  Date: scalar('Date', 'A date, ISO 8601.', string),
  Time: scalar('Time', 'A time of day, ISO 8601.', string),
  DateTime: scalar('DateTime', 'A moment, ISO 8601.', string),
  Base64: scalar('Base64', 'Bytes in base64.', base64),
  GenericScalar: genericScalar,
};
