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
  const { coerced, errors } = getVariableValues(schema, definitions, given, { maxErrors: MOST_ERRORS });
  if (coerced) return coerced;
  const message = errors[0]?.message ?? 'A variable has the wrong type.';
  throw new DocumentError(new AppError('BAD_USER_INPUT', message), errors);
}

const NONE: Readonly<Record<string, unknown>> = Object.freeze({});
