import type { ExecutionResult, GraphQLError } from 'graphql';
import { explainControlError } from '../../db/controlFailure.js';
import { AppError } from '../../errors.js';
import { writeJson } from '../../losslessJson.js';
import type { Logger } from '../../log.js';
import type { GraphqlResponse } from '../../graphql/response.js';

/** The response to an executed request. Only AppErrors show their message; any other error is internal. */
export function executionResponse(result: ExecutionResult, log: Logger): GraphqlResponse {
  const errors = result.errors?.map((item) => describe(item, log));
  // Without data, nothing was executed: the variables were invalid.
  if (!('data' in result)) return { status: 400, body: JSON.stringify({ errors }) };
  const body = errors ? { errors, data: result.data } : { data: result.data };
  return { status: 200, body: writeJson(body) };
}

function describe(item: GraphQLError, log: Logger): object {
  const { originalError } = item;
  // An error of graphql-js: a variable or an argument of the wrong type.
  if (!originalError || originalError.name === 'GraphQLError') {
    return { ...item.toJSON(), extensions: extensions(new AppError('BAD_USER_INPUT', item.message)) };
  }
  const known = explainControlError(originalError);
  if (!known || known.code === 'INTERNAL_ERROR') log.error({ err: originalError }, 'a control field failed');
  const shown = known ?? new AppError('INTERNAL_ERROR', 'Internal error.');
  return { ...item.toJSON(), message: shown.message, extensions: extensions(shown) };
}

function extensions(error: AppError): object {
  return { ...error.details, code: error.code, hint: error.hint };
}
