import type { Principal } from '../../db/principal.js';
import { composeAuthBody, type SchemaDescription } from './authBody.js';
import type { Tokens } from './tokens.js';

export interface SignInAnswerDeps {
  readonly tokens: Tokens;
  readonly baseUrl: string;
  /** Of `/query` for this principal's tenant. */
  readonly describe: (principal: Principal) => Promise<SchemaDescription>;
  readonly describeControl: () => SchemaDescription;
}

/** Issues tokens and makes the JSON text that every way of signing in answers. */
export function createSignInAnswer(deps: SignInAnswerDeps): (principal: Principal) => Promise<string> {
  return async (principal) => {
    const [tokens, schema] = await Promise.all([deps.tokens.issuePair(principal), deps.describe(principal)]);
    const controlSchema = deps.describeControl();
    return composeAuthBody({ principal, tokens, baseUrl: deps.baseUrl, schema, controlSchema });
  };
}
