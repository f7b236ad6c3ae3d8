import { getVariableValues, type GraphQLSchema } from 'graphql';
import { AppError } from '../../errors.js';
import { DocumentError, type ReadyDocument } from './document.js';

const MOST_ERRORS = 10;

/** The operation's variables, coerced to their types, with defaults. What it does not declare is ignored. Throws DocumentError. */
export function coerceVariables(
  schema: GraphQLSchema,
  { operation }: ReadyDocument,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const definitions = operation.variableDefinitions ?? [];
  if (definitions.length === 0) return NONE;
  const { coerced, errors } = getVariableValues(schema, definitions, ownOnly(given) as typeof given, {
    maxErrors: MOST_ERRORS,
  });
  if (coerced) return coerced;
  const message = errors[0]?.message ?? 'A variable has the wrong type.';
  throw new DocumentError(new AppError('BAD_USER_INPUT', message), errors);
}

/** Copies without a prototype: graphql-js would take `constructor` for a value that was given. */
function ownOnly(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ownOnly);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, item] of Object.entries(value)) copy[key] = ownOnly(item);
  return copy;
}

const NONE: Readonly<Record<string, unknown>> = Object.freeze({});
