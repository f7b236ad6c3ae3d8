import type { ExecutionResult, GraphQLError } from 'graphql';
import { explainControlError } from '../../db/controlFailure.js';
import { AppError } from '../../errors.js';
import { writeJson } from '../../losslessJson.js';
import type { GraphqlResponse } from '../../graphql/response.js';

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
    return { ...item.toJSON(), extensions: extensions(new AppError('BAD_USER_INPUT', item.message)) };
  }
  const known = explainControlError(originalError);
  if (!known || known.code === 'INTERNAL_ERROR') report(originalError);
  const shown = known ?? new AppError('INTERNAL_ERROR', 'Internal error.');
  return { ...item.toJSON(), message: shown.message, extensions: extensions(shown) };
}

function extensions(error: AppError): object {
  return { ...error.details, code: error.code, hint: error.hint };
}
