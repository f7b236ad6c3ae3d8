import type { IncomingMessage } from 'node:http';
import type { RequestParams } from 'graphql-http';
import { AppError } from '../../foundation/errors.js';
import { isJsonObject, parseJson } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { ReserveBytes } from '../http/bodyBudget.js';
import { readFields, type Fields, type InTurn } from '../http/readFields.js';

type Values = Readonly<Record<string, unknown>>;

/**
 * Reads a GraphQL request from the URL of a GET or the body of a POST: JSON or a form. `variables` may be an object,
 * null, absent, or a string that holds JSON. Unknown keys are ignored.
 * Throws AppError BAD_REQUEST, PERSISTED_QUERY_NOT_SUPPORTED, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, and what `inTurn`
 * throws.
 */
export async function readGraphqlRequest(
  req: IncomingMessage,
  bodyLimitBytes: number,
  inTurn: InTurn,
  startReservation: () => ReserveBytes,
): Promise<RequestParams> {
  const values =
    req.method === 'GET'
      ? searchOf(req.url ?? '')
      : bodyOf(await readFields(req, bodyLimitBytes, inTurn, startReservation));
  const variables = objectOf(values, 'variables');
  const operationName = operationNameOf(values);
  return {
    query: queryOf(values),
    ...(variables === undefined ? {} : { variables }),
    ...(operationName === undefined ? {} : { operationName }),
  };
}

function searchOf(url: string): Values {
  const question = url.indexOf('?');
  return Object.fromEntries(new URLSearchParams(question < 0 ? '' : url.slice(question)));
}

function bodyOf({ kind, values }: Fields): Values {
  // No extensions are supported, but a wrong shape indicates a client that misunderstands the protocol.
  const extensions = values['extensions'];
  if (kind === 'json' && extensions != null && !isJsonObject(extensions)) {
    throw new AppError('BAD_REQUEST', 'extensions must be an object.');
  }
  return values;
}

function queryOf(values: Values): string {
  const query = values['query'];
  if (query == null || query === '') throw withoutQuery(values);
  if (typeof query !== 'string') throw new AppError('BAD_REQUEST', 'query must be a string.');
  return query;
}

/** Clients of automatic persisted queries first send a hash alone. At this message, Apollo's and urql's send the query. */
function withoutQuery(values: Values): AppError {
  const { extensions, operations } = values;
  if (operations !== undefined) {
    return new AppError('BAD_REQUEST', 'Files are not uploaded with a request (operations and map).', {
      hint: 'Call upload_<table>, and PUT the bytes to the upload_url that it returns.',
    });
  }
  const sendsHash = isJsonObject(extensions)
    ? 'persistedQuery' in extensions
    : typeof extensions === 'string' && extensions.includes('"persistedQuery"');
  return sendsHash
    ? new AppError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported')
    : new AppError('BAD_REQUEST', 'The request has no query.', isJsonAsForm(values) ? { hint: AS_JSON } : {});
}

/** As curl's `-d` sends it, unless the header says otherwise. */
const AS_JSON =
  'The body looks like JSON, but was sent as a form: add the header Content-Type: application/json.';

function isJsonAsForm(values: Values): boolean {
  return Object.keys(values).some((name) => /^\s*\{\s*"/.test(name));
}

/** Empty means absent, since forms can't easily omit a field. */
function operationNameOf(values: Values): string | undefined {
  const name = values['operationName'];
  if (name == null || name === '') return undefined;
  if (typeof name !== 'string') throw new AppError('BAD_REQUEST', 'operationName must be a string.');
  return name;
}

function objectOf(values: Values, name: string): Record<string, unknown> | undefined {
  let value = ownValue(values, name);
  if (typeof value === 'string') {
    if (value.trim() === '') return undefined;
    try {
      value = parseJson(value);
    } catch (error) {
      throw new AppError('BAD_REQUEST', `${name} is a string that is not valid JSON.`, { cause: error });
    }
  }
  if (value == null) return undefined;
  if (!isJsonObject(value)) throw new AppError('BAD_REQUEST', `${name} must be an object.`);
  return value;
}
