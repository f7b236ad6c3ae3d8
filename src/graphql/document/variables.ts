import { getVariableValues, type GraphQLSchema } from 'graphql';
import { AppError } from '../../foundation/errors.js';
import { ExactNumber } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { noteNumbers } from '../schema/scalars.js';
import { DocumentError, type ReadyDocument } from './document.js';

const MAX_ERRORS = 10;
/** As for a document's brackets: values are copied, compared and serialized recursively, here and in PostgreSQL. */
const MAX_LEVELS = 200;

/**
 * The variables of a request, safe to recurse into; empty if the operation declares none. Throws AppError BAD_USER_INPUT
 * if they are nested too deeply.
 */
export function readVariables(
  { operation }: ReadyDocument,
  given: Readonly<Record<string, unknown>> | null | undefined,
): Readonly<Record<string, unknown>> {
  const isNoneDeclared = (operation.variableDefinitions ?? []).length === 0;
  return isNoneDeclared || given == null ? NONE : (ownOnly(given) as typeof given);
}

/**
 * The operation's variables, coerced, with defaults. Undeclared ones are ignored. Throws DocumentError, or AppError
 * BAD_USER_INPUT if they are nested too deeply.
 */
export function coerceVariables(
  schema: GraphQLSchema,
  ready: ReadyDocument,
  given: Readonly<Record<string, unknown>> | null | undefined,
): Readonly<Record<string, unknown>> {
  const definitions = ready.operation.variableDefinitions ?? [];
  if (definitions.length === 0) return NONE;
  const { coerced, errors } = getVariableValues(schema, definitions, readVariables(ready, given), {
    maxErrors: MAX_ERRORS,
  });
  if (coerced) {
    refuseNull(ready.requiredVariables, coerced);
    noteNumbers(coerced, definitions);
    return coerced;
  }
  const message = errors[0]?.message ?? 'A variable has the wrong type.';
  throw new DocumentError(new AppError('BAD_USER_INPUT', message), errors);
}

function refuseNull(required: ReadonlySet<string>, variables: Readonly<Record<string, unknown>>): void {
  for (const name of required) {
    if (ownValue(variables, name) !== null) continue;
    const message = `Variable "$${name}" must not be null: it is used where a value is required.`;
    throw new DocumentError(new AppError('BAD_USER_INPUT', message));
  }
}

/**
 * Copies without a prototype: otherwise graphql-js would mistake `constructor` for a provided value. Throws AppError
 * BAD_USER_INPUT if it is nested too deeply.
 */
export function ownOnly(value: unknown, levels = 0): unknown {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
  if (levels > MAX_LEVELS) {
    throw new AppError('BAD_USER_INPUT', `A variable is nested more than ${MAX_LEVELS} levels deep.`, {
      hint: 'Send a flatter value.',
    });
  }
  if (Array.isArray(value)) return value.map((item) => ownOnly(item, levels + 1));
  const copy = Object.entries(value).map(([key, item]) => [key, ownOnly(item, levels + 1)]);
  return Object.setPrototypeOf(Object.fromEntries(copy), null) as Record<string, unknown>;
}

const NONE: Readonly<Record<string, unknown>> = Object.freeze({});
