import type { ServerResponse } from 'node:http';
import type { AnswerBudget } from '../../db/answerBudget.js';
import type { Principal } from '../../db/principal.js';
import { composeAuthBody, type SchemaDescription } from './authBody.js';
import { sendResponse, whenGone, type SlownessLimits } from '../http/sendResponse.js';
import { recordOf } from '../http/requestRecord.js';
import type { Tokens } from './tokens.js';

export interface SignInResponderDeps {
  readonly tokens: Tokens;
  readonly baseUrl: string;
  /** The schema of `/query` for the principal's tenant. */
  readonly describe: (principal: Principal) => Promise<SchemaDescription>;
  readonly describeControl: () => SchemaDescription;
  /** Bounds buffered responses, which contain the schema and may be large. */
  readonly answers: AnswerBudget;
  readonly slowness: SlownessLimits;
}

/** Throws AppError TOO_BUSY while the tenant's unread responses take too much memory. */
export type SignInResponder = (res: ServerResponse, principal: Principal) => Promise<void>;

const HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/** Issues tokens and sends the response common to all ways of signing in. */
export function createSignInResponder(deps: SignInResponderDeps): SignInResponder {
  return async (res, principal) => {
    recordOf(res)?.askedBy(principal);
    const [tokens, schema] = await Promise.all([deps.tokens.issuePair(principal), deps.describe(principal)]);
    const controlSchema = deps.describeControl();
    const body = composeAuthBody({ principal, tokens, baseUrl: deps.baseUrl, schema, controlSchema });
    const { take, release } = deps.answers.open(principal.tenantid);
    const refusal = take(body.length);
    whenGone(res, release);
    if (refusal?.code === 'TOO_BUSY') throw refusal;
    sendResponse(res, 200, HEADERS, body, deps.slowness);
  };
}
