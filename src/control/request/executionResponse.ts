import type { ExecutionResult, GraphQLError } from 'graphql';
import { explainControlError } from '../../db/sql/controlFailure.js';
import { AppError } from '../../foundation/errors.js';
import { writeJson } from '../../foundation/json/losslessJson.js';
import { extensionsOf, graphqlErrorJson, type GraphqlResponse } from '../../graphql/response.js';

/**
 * The response to an executed request. Only AppErrors show their message; any other error is internal.
 * @param report logs an internal error
 */
export function executionResponse(
  result: ExecutionResult,
  report: (error: unknown) => void,
): GraphqlResponse {
  const errors = result.errors?.map((item) => describe(item, report));
  // Without data, nothing was executed: the variables were invalid.
  if (!('data' in result)) return { status: 400, body: JSON.stringify({ errors }) };
  const body = errors ? { errors, data: result.data } : { data: result.data };
  return { status: 200, body: writeJson(body) };
}

function describe(item: GraphQLError, report: (error: unknown) => void): object {
  const { originalError } = item;
  // An error of graphql-js: a variable or an argument of the wrong type.
  if (!originalError || originalError.name === 'GraphQLError') {
    return {
      ...graphqlErrorJson(item),
      extensions: extensionsOf(new AppError('BAD_USER_INPUT', item.message)),
    };
  }
  const shown = toPublicError(originalError, report);
  return { ...graphqlErrorJson(item), message: shown.message, extensions: extensionsOf(shown) };
}

/** The error as callers see it; an internal one is reported. */
export function toPublicError(error: unknown, report: (error: unknown) => void): AppError {
  const known = explainControlError(error);
  if (!known || known.code === 'INTERNAL_ERROR') report(error);
  return known ?? new AppError('INTERNAL_ERROR', 'Internal error.');
}
