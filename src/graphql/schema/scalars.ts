import {
  GraphQLBoolean,
  GraphQLError,
  GraphQLID,
  GraphQLScalarType,
  GraphQLString,
  Kind,
  type TypeNode,
  type ValueNode,
  type VariableDefinitionNode,
} from 'graphql';
import type { ScalarName } from '../../db/catalog/types.js';
import { exactInteger, ExactNumber, toJsonNumber } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const INT_LIMIT = 2n ** 31n;
const BIGINT_LIMIT = 2n ** 63n;

/** `accept` returns the value to send to PostgreSQL, or undefined if the value has the wrong type. */
function scalar(
  name: ScalarName,
  description: string,
  accept: (value: unknown) => unknown,
): GraphQLScalarType {
  const take = (value: unknown, shown: () => string, node?: ValueNode): unknown => {
    const taken = accept(value);
    if (taken === undefined) {
      throw new GraphQLError(`${name} cannot represent ${shown()}`, node ? { nodes: node } : {});
    }
    return taken;
  };
  return new GraphQLScalarType({
    name,
    description,
    // Values are returned as the database rendered them.
    serialize: (value) => value,
    parseValue: (value) => take(value, () => show(value)),
    parseLiteral: (node) => take(literal(node), () => showLiteral(node), node),
  });
}

const MAX_SHOWN_CHARACTERS = 100;

/** The value as it was sent. */
function show(value: unknown): string {
  const text =
    value instanceof ExactNumber
      ? value.text
      : ((JSON.stringify(value) as string | undefined) ?? 'this value');
  return text.slice(0, MAX_SHOWN_CHARACTERS);
}

function showLiteral(node: ValueNode): string {
  if (node.kind === Kind.INT || node.kind === Kind.FLOAT) return node.value.slice(0, MAX_SHOWN_CHARACTERS);
  return 'value' in node ? show(node.value) : 'this value';
}

/** Numbers become text, which keeps all digits. */
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

function asText(value: unknown): string | undefined {
  if (value instanceof ExactNumber) return value.text;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : undefined;
}
const string = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** An integer in any notation, including `1.0` and `1e3`, without rounding. A double beyond 2^53 is rejected: it may have been rounded. */
function integer(value: unknown): bigint | undefined {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return undefined;
  const text = asText(value);
  return text === undefined ? undefined : exactInteger(text.trim());
}

function int(value: unknown): number | undefined {
  const number = integer(value);
  return number !== undefined && number >= -INT_LIMIT && number < INT_LIMIT ? Number(number) : undefined;
}

function bigInt(value: unknown): string | undefined {
  const number = integer(value);
  return number !== undefined && number >= -BIGINT_LIMIT && number < BIGINT_LIMIT
    ? String(number)
    : undefined;
}

function float(value: unknown): string | undefined {
  const text = asText(value)?.trim();
  return text !== undefined && (NUMBER.test(text) || /^(NaN|[+-]?Infinity)$/i.test(text)) ? text : undefined;
}

function base64(value: unknown): string | undefined {
  const text = string(value);
  return text !== undefined && /^[A-Za-z0-9+/\s]*(?:=\s*){0,2}$/.test(text) ? text : undefined;
}

const genericScalar = new GraphQLScalarType({
  name: 'GenericScalar',
  description: 'Any JSON value.',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: jsonOfLiteral,
});

type Variables = Readonly<Record<string, unknown>> | null | undefined;

/** Like `valueFromASTUntyped` of graphql-js, except that numbers keep all digits. */
function jsonOfLiteral(node: ValueNode, variables: Variables): unknown {
  switch (node.kind) {
    case Kind.NULL:
      return null;
    case Kind.INT:
    case Kind.FLOAT:
      return toJsonNumber(node.value);
    case Kind.LIST:
      return node.values.map((item) => jsonOfLiteral(item, variables) ?? null);
    case Kind.OBJECT:
      return Object.fromEntries(
        node.fields.map((field) => [field.name.value, jsonOfLiteral(field.value, variables)]),
      );
    case Kind.VARIABLE: {
      const value = variables && ownValue(variables, node.name.value);
      return variables && NUMBERS.get(variables)?.has(node.name.value) ? numberOf(value) : value;
    }
    default:
      return node.value;
  }
}

const NUMBERS = new WeakMap<object, ReadonlySet<string>>();
const NUMBER_TYPES: ReadonlySet<string> = new Set<ScalarName>(['BigInt', 'Float', 'Decimal']);
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Notes which coerced variables are texts only to keep their digits: within a JSON literal they are numbers again. */
export function noteNumbers(
  variables: Readonly<Record<string, unknown>>,
  definitions: readonly VariableDefinitionNode[],
): void {
  const numbers = definitions.filter(({ type }) => NUMBER_TYPES.has(namedType(type)));
  if (numbers.length > 0) NUMBERS.set(variables, new Set(numbers.map(({ variable }) => variable.name.value)));
}

function namedType(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : namedType(type.type);
}

/** NaN and infinities, which JSON lacks, stay texts. */
function numberOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(numberOf);
  return typeof value === 'string' && JSON_NUMBER.test(value) ? toJsonNumber(value) : value;
}

const MAX_ID_DIGITS = 100;

function idDigits(text: string): string | undefined {
  const digits = exactInteger(text)?.toString();
  return digits !== undefined && digits.length <= MAX_ID_DIGITS ? digits : undefined;
}

/** GraphQL's ID, extended to integers that a double can't represent and to `1.0` and `1e3`. */
export const ID = new GraphQLScalarType({
  ...GraphQLID.toConfig(),
  parseValue: (value) =>
    (value instanceof ExactNumber ? idDigits(value.text) : undefined) ?? GraphQLID.parseValue(value),
  parseLiteral: (node) =>
    (node.kind === Kind.FLOAT ? idDigits(node.value) : undefined) ?? GraphQLID.parseLiteral(node),
});

/** Lenient where existing clients need it: numeric strings count as numbers. */
export const SCALARS: Readonly<Record<ScalarName, GraphQLScalarType>> = {
  Int: scalar('Int', 'A 32-bit integer; numeric strings are accepted.', int),
  BigInt: scalar(
    'BigInt',
    'A 64-bit integer, as a JSON number; request `cast: text` for values beyond 2^53.',
    bigInt,
  ),
  Float: scalar('Float', 'A binary floating-point number.', float),
  Decimal: scalar('Decimal', 'A decimal number in full precision; send long values as strings.', float),
  Boolean: GraphQLBoolean,
  String: GraphQLString,
  UUID: scalar('UUID', 'A UUID.', string),
  Date: scalar('Date', 'A date, ISO 8601.', string),
  Time: scalar('Time', 'A time of day, ISO 8601.', string),
  DateTime: scalar('DateTime', 'A point in time, ISO 8601.', string),
  Base64: scalar('Base64', 'Bytes in base64.', base64),
  GenericScalar: genericScalar,
};
