import type { IncomingMessage, ServerResponse } from 'node:http';
import { createHandler, type Request, type RequestParams, type Response } from 'graphql-http';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import type { Allowance } from '../../graphql/allowance.js';
import type { DataEngine, GraphqlRequest } from '../../graphql/dataEngine.js';
import type { IdempotencyKey } from '../../graphql/idempotency.js';
import { planOwnerOf } from '../../graphql/plan/planOwner.js';
import type { GraphqlResponse } from '../../graphql/response.js';
import { oneStep } from '../../graphql/steps.js';
import type { Authenticated, Authenticator } from '../auth/authenticate.js';
import type { TokenClaims } from '../auth/tokens.js';
import { acceptedMediaType } from './graphqlMediaType.js';
import { readGraphqlRequest } from './graphqlRequest.js';
import { readFromHeader, readIdempotencyKey, type ReadFrom } from '../http/requestHeaders.js';
import { clientAddress } from '../http/clientAddress.js';
import type { BodyBudget } from '../http/bodyBudget.js';
import { explain, failureBody, retryAfter, sendFailure } from '../http/failure.js';
import { recordOf, type RequestRecord } from '../http/requestRecord.js';
import { endSlowResponse, sendResponse, type SlownessLimits } from '../http/sendResponse.js';
import type { AnonymousLimits } from '../http/anonymousLimits.js';
import type { WebDeps } from '../http/webDeps.js';

/** Executes GraphQL requests, on the tenant's tables or the control objects. */
export interface GraphqlExecutor {
  execute(
    principal: Principal,
    request: GraphqlRequest,
    options: Parameters<DataEngine['execute']>[2] & {
      /** Of the caller's token. */
      readonly claims?: TokenClaims;
    },
  ): Promise<GraphqlResponse>;
}

export interface GraphqlEndpointDeps extends WebDeps {
  readonly authenticator: Authenticator;
  /** Counts the request. @returns what the caller may spend. Throws AppError RATE_LIMITED. */
  readonly admit: AnonymousLimits['admit'];
  readonly bodies: BodyBudget;
}

interface Context extends Authenticated {
  readonly allowance: Allowance | undefined;
  readonly idempotencyKey: IdempotencyKey | undefined;
  readonly readFrom: ReadFrom | undefined;
  readonly record: RequestRecord | undefined;
  readonly res: ServerResponse;
  /** To be called once the response has been sent. */
  release?: (() => void) | undefined;
}

/** A GraphQL endpoint, GET and POST, per the GraphQL-over-HTTP specification. Handled ahead of Express: small responses are 3 times as fast. */
export function createGraphqlEndpoint(
  executor: GraphqlExecutor,
  deps: GraphqlEndpointDeps,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const handle = createHandler<IncomingMessage, Context>({
    parseRequestParams: (request) => parse(request, deps),
    onSubscribe: (request, params) => respond(executor, request, params),
  });
  return async (req, res) => {
    const { method = '', url = '', headers } = req;
    let context: Context | undefined;
    const fail = (error: AppError, more?: Readonly<Record<string, string>>): void => {
      context?.release?.();
      endSlowResponse(res, deps.config.responseTimeoutMs);
      sendFailure(res, error, more);
    };
    try {
      if (method !== 'GET' && method !== 'POST') {
        const error = new AppError('METHOD_NOT_ALLOWED', `${method} is not allowed here.`);
        fail(error, { allow: 'GET, POST' });
        return;
      }
      const { principal, claims } = await deps.authenticator.authenticateCaller(
        headers.authorization,
        clientAddress(req, deps.config.trustProxy),
      );
      const record = recordOf(res);
      record?.setPrincipal(principal);
      const allowance = await deps.admit(principal, req);
      const key = readIdempotencyKey(req);
      // All anonymous clients are one role, and an API key may do less than its role.
      const isShared = isAnonymous(principal) || claims.keyid !== undefined;
      context = {
        principal,
        claims,
        allowance,
        idempotencyKey: key === undefined ? undefined : { key, client: isShared ? claims.client : '' },
        readFrom: readFromHeader(req),
        record,
        res,
      };
      const [body, init] = await handle({
        method,
        url,
        headers,
        body: null,
        raw: req,
        context,
      });
      if (body === null) fail(notAcceptable(init.status));
      else send(res, body, init, deps.config, context.release);
    } catch (error) {
      const shown = explain(error, deps.log, res);
      fail(shown, retryAfter(shown));
    }
  };
}

async function parse(
  request: Request<IncomingMessage, Context>,
  { config, bodies, engine }: GraphqlEndpointDeps,
): Promise<RequestParams | Response> {
  const { principal, res } = request.context;
  const planner = planOwnerOf(principal);
  try {
    return await readGraphqlRequest(
      request.raw,
      config.bodyLimitBytes,
      // Parsing a large body counts as planning.
      (work) => engine.planning.run(planner, oneStep(work)),
      () => bodies.ofTenant(principal.tenantid, res),
    );
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // An invalid GraphQL request gets a GraphQL error envelope; an unreadable body does not.
    const isInvalid = error.status === 400;
    const mediaType = isInvalid ? acceptedMediaType(request.raw.headers.accept) : 'application/json';
    return [
      isInvalid ? errorEnvelope(error) : failureBody(error),
      {
        status: error.status,
        statusText: '',
        headers: {
          'content-type': `${mediaType}; charset=utf-8`,
          // The unread rest of the body must not be mistaken for the next request.
          ...(error.code === 'BODY_TOO_LARGE' || request.raw.isPaused() ? { connection: 'close' } : {}),
          ...retryAfter(error),
        },
      },
    ];
  }
}

async function respond(
  executor: GraphqlExecutor,
  request: Request<IncomingMessage, Context>,
  { query, variables, operationName }: RequestParams,
): Promise<Response> {
  const { principal, claims, allowance, idempotencyKey, readFrom, record } = request.context;
  if (record && operationName != null) record.operation = operationName;
  const outcome = await executor.execute(
    principal,
    { query, variables: variables ?? null, operationName: operationName ?? null },
    {
      allowMutation: request.method === 'POST',
      claims,
      idempotencyKey,
      readFrom,
      requestId: record?.id,
      span: record?.span,
      ...(allowance ? { allowance } : {}),
    },
  );
  request.context.release = outcome.release;
  if (record && outcome.failure) ({ code: record.code, cause: record.cause } = outcome.failure);
  const mediaType = acceptedMediaType(request.raw.headers.accept);
  const headers: Record<string, string> = { 'content-type': `${mediaType}; charset=utf-8` };
  if (outcome.status === 405) headers['allow'] = 'POST';
  if (outcome.retryAfterSeconds !== undefined) headers['retry-after'] = String(outcome.retryAfterSeconds);
  // Clients that accept application/json expect 200 for any GraphQL response.
  const status = outcome.status === 400 && mediaType === 'application/json' ? 200 : outcome.status;
  return [outcome.body, { status, statusText: '', headers }];
}

function send(
  res: ServerResponse,
  body: string,
  init: Response[1],
  limits: SlownessLimits,
  release: (() => void) | undefined,
): void {
  const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...init.headers };
  sendResponse(res, init.status, headers, body, limits, release);
}

function errorEnvelope(error: AppError): string {
  return JSON.stringify({
    errors: [{ message: error.message, extensions: { code: error.code, hint: error.hint } }],
  });
}

function notAcceptable(status: number): AppError {
  if (status !== 406) throw new Error(`graphql-http responded with ${status} without a body`);
  return new AppError('NOT_ACCEPTABLE', 'None of the media types in the Accept header can be sent.');
}
