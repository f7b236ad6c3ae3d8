import type { ServerResponse } from 'node:http';
import type { AnswerBudget } from '../../db/answerBudget.js';
import type { Principal } from '../../db/principal.js';
import { composeAuthBody, type SchemaDescription } from './authBody.js';
import { sendAnswer, whenGone, type SlownessLimits } from '../http/sendAnswer.js';
import { recordOf } from '../http/requestRecord.js';
import type { Tokens } from './tokens.js';

export interface SignInAnswerDeps {
  readonly tokens: Tokens;
  readonly baseUrl: string;
  /** Of `/query` for this principal's tenant. */
  readonly describe: (principal: Principal) => Promise<SchemaDescription>;
  readonly describeControl: () => SchemaDescription;
  /** Limits buffered responses: a large schema makes them large. */
  readonly answers: AnswerBudget;
  readonly slowness: SlownessLimits;
}

/** Throws AppError TOO_BUSY while the tenant's unread responses take too much memory. */
export type SignInAnswer = (res: ServerResponse, principal: Principal) => Promise<void>;

const HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/** Issues tokens and sends the response common to all ways of signing in. */
export function createSignInAnswer(deps: SignInAnswerDeps): SignInAnswer {
  return async (res, principal) => {
    recordOf(res)?.askedBy(principal);
    const [tokens, schema] = await Promise.all([deps.tokens.issuePair(principal), deps.describe(principal)]);
    const controlSchema = deps.describeControl();
    const body = composeAuthBody({ principal, tokens, baseUrl: deps.baseUrl, schema, controlSchema });
    const { take, release } = deps.answers.open(principal.tenantid);
    const refusal = take(body.length);
    whenGone(res, release);
    if (refusal?.code === 'TOO_BUSY') throw refusal;
    sendAnswer(res, 200, HEADERS, body, deps.slowness);
  };
}
